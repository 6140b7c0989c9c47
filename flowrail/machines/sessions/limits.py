"""How large the parts of a session may become."""

from __future__ import annotations

from flowrail.storage.journal import LARGEST_LINE, TooLargeError

LAST_ROOM = 2 * LARGEST_LINE
"""What stays free at the end of a journal for the records that close it."""
LONGEST_INLINE = 16 * 1024
"""A text with more bytes than that is kept in a file beside the journal."""
LARGEST_TEXTS = 8 * 1024 * 1024
"""All such texts of one record together."""
LARGEST_WHOLE = 4 * LARGEST_TEXTS
"""The same, each counted as often as the record names it."""
LARGEST_DEFINITION = 8 * 1024 * 1024
"""What a session keeps of its workflow."""

LARGEST_PAYLOAD = 1_000_000
"""Of work that one skill hands over to another."""


def too_long_together(size: int) -> TooLargeError:
    """Return the refusal of texts that have *size* bytes together."""
    return _too_large(
        f"the long texts of the session would have {size} bytes; at most {LARGEST_TEXTS} are allowed", size
    )


def too_often(size: int) -> TooLargeError:
    """Return the refusal of texts that are named so often that they have *size* bytes."""
    what = f"the long texts of the session would have {size} bytes, each counted as often as it is named"
    return _too_large(f"{what}; at most {LARGEST_WHOLE} are allowed", size)


def too_long_line(size: int) -> TooLargeError:
    """Return the refusal of a record of *size* bytes."""
    return _too_large(f"the record would have {size} bytes; at most {LARGEST_LINE} are allowed", size)


def _too_large(what: str, size: int) -> TooLargeError:
    return TooLargeError(what, hint="put long texts into files and report their paths", bytes=size)
