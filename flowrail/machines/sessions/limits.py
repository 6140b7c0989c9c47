"""How large anything of a session may become, and the refusal of more."""

from __future__ import annotations

from flowrail.errors import StorageError

LARGEST_STATE = 256 * 1024
"""The state in a record, its long texts aside."""
LARGEST_LINE = 1024 * 1024
LARGEST_JOURNAL = 256 * 1024 * 1024
LAST_ROOM = 2 * LARGEST_LINE
"""What is kept free at the end of a journal for the records that close it."""
LONGEST_INLINE = 16 * 1024
"""A text with more bytes than that lies in a file beside the journal."""
LARGEST_TEXTS = 8 * 1024 * 1024
"""All such texts of one record together."""
LARGEST_WHOLE = 4 * LARGEST_TEXTS
"""The same, each as often as the record names it: a fact stands in the state, in the report, and perhaps in a note."""
LARGEST_OWN_DEFINITION = 8 * 1024 * 1024
"""What a session keeps of its workflow; nothing larger begins."""
LARGEST_DEFINITION = 4 * 1024 * 1024
"""The same, where somebody else wrote it."""

LARGEST_PAYLOAD = 1_000_000
"""Of work that one skill hands over to another."""


class TooLargeError(StorageError):
    """A record, a journal or a test made of one would grow past what is kept."""

    code = "TOO_LARGE"


def too_long_together(size: int) -> TooLargeError:
    """Return the refusal of texts that have *size* bytes together."""
    return _too_large(
        f"the long texts of the session would have {size} bytes; {LARGEST_TEXTS} are the most", size
    )


def too_often(size: int) -> TooLargeError:
    """Return the refusal of texts that are named so often that they have *size* bytes."""
    what = f"the long texts of the session would have {size} bytes; {LARGEST_TEXTS} are the most"
    return _too_large(f"{what}, and {LARGEST_WHOLE} each as often as it is named", size)


def too_long_line(size: int) -> TooLargeError:
    """Return the refusal of a record of *size* bytes."""
    return _too_large(f"the record would have {size} bytes; {LARGEST_LINE} are the most", size)


def _too_large(what: str, size: int) -> TooLargeError:
    return TooLargeError(what, hint="put what is long into files and report their paths", bytes=size)
