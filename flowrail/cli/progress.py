"""A bar on standard error for work that takes longer than a second, if a person sees it there."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from flowrail.cli import output
from flowrail.text.safe_text import one_line

if TYPE_CHECKING:
    from rich.progress import Progress

SHOWN_AFTER = 1.0


class ProgressBar:
    """The progress of one command, which disappears at the end.

    ``with ProgressBar("Checking") as bar``: each call of *bar* says how far the work is. The first call after a second
    shows the bar.
    """

    def __init__(self, activity: str) -> None:
        self._activity = activity
        self._shown_from = time.monotonic() + SHOWN_AFTER
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, activity: str, done: int, total: int | None) -> None:
        """Say what is done now, and how much of how much is done."""
        self._activity = activity
        if self._bar is None and sys.stderr.isatty() and time.monotonic() > self._shown_from:
            self._bar = output.terminal().progress()
            self._bar.add_task("")
            self._bar.start()
        if self._bar is not None:
            (task,) = self._bar.task_ids
            self._bar.update(task, description=one_line(activity), completed=done, total=total)
