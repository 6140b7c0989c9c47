"""A bar on standard error for work that takes longer than a second, if a person sees it there."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from flowrail.cli import output
from flowrail.text.safe_text import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
SHOWN_AFTER = 1.0


class ProgressBar:
    """The progress of one command. It is drawn in a thread of its own and disappears at the end.

    ``with ProgressBar("Checking") as bar`` shows that the work goes on; each call of *bar* says how far it is.
    """

    def __init__(self, what: str) -> None:
        self._state: tuple[str, int, int | None] = (what, 0, None)
        self._has_color = output.has_color()  # the command's context belongs to this thread
        self._lock = threading.Lock()
        self._timer = threading.Timer(SHOWN_AFTER, self._show)
        self._timer.daemon = True
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Say what is done now, and how much of how much is done."""
        with self._lock:
            self._state = (what, done, total)
            self._draw()

    def each(self, items: Iterable[T], total: int | None) -> Iterator[T]:
        """Yield *items*, and count them."""
        for number, item in enumerate(items):
            self(self._state[0], number, total)
            yield item

    def _show(self) -> None:
        with self._lock:
            self._bar = output.terminal()._replace(has_color=self._has_color).progress()
            self._task = self._bar.add_task("", total=None)
            self._draw()
            self._bar.start()

    def _draw(self) -> None:
        if self._bar is not None and self._task is not None:
            what, done, total = self._state
            self._bar.update(self._task, description=one_line(what), completed=done, total=total)
