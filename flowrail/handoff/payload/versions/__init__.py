"""The shapes of a payload, one module a version: the door to pydantic in this room.

Only the shape is judged here, strictly and all of it at once; what fields have to do with each other,
with the clock and with the disk is `handoff.checking`'s business.
"""
