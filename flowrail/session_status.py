"""The statuses of a session, and what each means. Hooks read them at every call, so this module imports little."""

from __future__ import annotations

from typing import NamedTuple


class SessionStatus(NamedTuple):
    """What a status of a session means."""

    style: str
    """The style in which reports print it: a value of `flowrail.text.report.Style`."""
    is_open: bool = False
    """Whether the session has not ended."""
    needs_person: bool = False
    """Whether the session waits for a person, so that no agent can work on it."""


ACTIVE, WAITING, COMPLETED, FAILED, ABANDONED = "active", "waiting", "completed", "failed", "abandoned"
STATUSES = {
    ACTIVE: SessionStatus("active", is_open=True),
    WAITING: SessionStatus("warning", is_open=True, needs_person=True),
    COMPLETED: SessionStatus("good"),
    FAILED: SessionStatus("bad"),
    ABANDONED: SessionStatus("muted"),
}
OPEN = tuple(name for name, status in STATUSES.items() if status.is_open)
ENDED = tuple(name for name, status in STATUSES.items() if not status.is_open)
NEED_PERSON = tuple(name for name, status in STATUSES.items() if status.needs_person)
