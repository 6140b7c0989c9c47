"""Whose the records of a journal are: this user's by their key, taken over by them, or somebody else's.

A record signed with the user's key vouches for all before it, since it was built on them. An earlier version
signed the first record only, in another way: such a journal is believed until it is gone on with, and from
then on like one that was taken over so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from flowrail.errors import StorageError
from flowrail.machines.sessions.user_key import Owner
from flowrail.storage import journal

MOST_BETWEEN = 20_000
"""So many records of somebody else are looked at for one of this user's behind them, where nothing was taken over."""


def is_signed(owner: Owner, line: bytes) -> bool:
    """Return whether a record carries this user's mark, as every record of theirs does."""
    return journal.signed_by(line, owner.key(), journal.EACH)


def is_foreign(owner: Owner, first: bytes, last: bytes, path: str) -> bool:
    """Return whether the newest record of a journal was neither written nor taken over by this user."""
    if is_signed(owner, last):
        return False
    taken = owner.taken(journal.hash_of(first, path, 1))
    if taken is None:
        return not journal.signed_by(first, owner.key())
    return bool(taken.head) and taken.head != journal.hash_of(last, path, 0)


def was_theirs(owner: Owner, first: bytes, path: str) -> bool:
    """Return whether this user began a session or took it over, whoever went on with it."""
    return began(owner, first) or owner.adopted(journal.hash_of(first, path, 1))


def began(owner: Owner, first: bytes) -> bool:
    """Return whether this user wrote the first record, with this version or an earlier one."""
    return is_signed(owner, first) or journal.signed_by(first, owner.key())


def trusted(owner: Owner, lines: Iterable[bytes], path: str) -> int:
    """Return how many records, from the first on, this user wrote or took over."""
    found = number = 0
    head, earlier = "", False
    for number, line in enumerate(lines, start=1):
        if number == 1:
            taken = owner.taken(journal.hash_of(line, path, 1))
            head = taken.head if taken is not None else ""
            earlier = not head and (taken is not None or journal.signed_by(line, owner.key()))
        if (head and head.encode() in line[-journal.TAIL :]) or is_signed(owner, line):
            found = number
        elif number - found > MOST_BETWEEN and not head and not earlier:
            break
    return number if earlier else found


def sign_from_here(owner: Owner, first: bytes, last: bytes, path: str) -> None:
    """Note how far a journal came that an earlier version wrote: what follows is signed."""
    digest = journal.hash_of(first, path, 1)
    taken = owner.taken(digest)
    if taken is None or not taken.head:
        with suppress(StorageError):  # it only guards against what others may do later
            owner.adopt(digest, journal.hash_of(last, path, 0))
