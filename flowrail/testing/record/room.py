"""How much may have been reported in a session that is recorded.

What a test holds is read as Python, which takes many times as much again.
"""

from __future__ import annotations

import sys
from typing import Any

from flowrail.machines.sessions.limits import TooLargeError

LARGEST_SCRIPT, USUAL_TURN = 10_000_000, 1_000
"""So many bytes of memory the reports of a script take together, beside what each may have."""


class Room:
    """What is left of `LARGEST_SCRIPT` while a session is recorded."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.left = LARGEST_SCRIPT

    def take(self, parts: list[Any]) -> None:
        """Take as much as a turn of these *parts* needs, or refuse."""
        self.left -= max(0, _size(parts, self.left + USUAL_TURN) - USUAL_TURN)
        if self.left < 0:
            raise TooLargeError(
                f"what was reported in `{self.session_id}` takes more than {LARGEST_SCRIPT} bytes, too much for a test",
                hint=f"`flow history {self.session_id} --json` tells all of it, record by record",
                session=self.session_id,
            )


def _size(parts: list[Any], most: int) -> int:
    """Return how many bytes *parts* take with all that is in them, counted up to *most*."""
    found = 0
    for each in parts:  # which grows
        found += sys.getsizeof(each)
        if found > most:
            break
        if isinstance(each, dict):
            parts += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            parts += each
    return found
