"""How much work something is, by calls instead of seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls_of(work: Callable[[], object], name: str = "", *, below: bool = False) -> int:
    """Return how many Python functions *work* calls, of that *name* where one is given; *below*: those of C too."""
    count = 0
    counted = {"call", "c_call"} if below else {"call"}

    def look(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in counted and name in {"", frame.f_code.co_name}

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
