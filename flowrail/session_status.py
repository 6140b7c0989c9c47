"""The statuses of a session, and what each means. Hooks read them at every call, so this module imports nothing."""

from __future__ import annotations


class SessionStatus:
    """What a status of a session means."""

    def __init__(self, style: str, *, is_open: bool = False, needs_person: bool = False) -> None:
        self.style = style
        """The style in which reports print it: a value of `flowrail.text.report.Style`."""
        self.is_open = is_open
        """Whether the session has not ended."""
        self.needs_person = needs_person
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
