"""What people and agents see of a session with secrets: the values of `secret: true` replaced.

The session itself keeps the values, because rules and handlers need them.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from flowrail.machines.definition.parts import Frozen

if TYPE_CHECKING:
    from flowrail.machines.sessions.session import Session

T = TypeVar("T")
HIDDEN = "[secret]"
SHORTEST_IN_TEXT = 6
"""A shorter secret is hidden under its name, but not within other texts, where it would hide ordinary words."""
_PARTS = (
    "params",
    "state",
    "last",
    "dispatches",
    "questions",
    "findings",
    "memory",
    "evidence",
    "topic",
    "received",
)


class Secrets:
    """The secrets of a session, which `hide` removes from texts, facts and records."""

    def __init__(self, session: "Session") -> None:
        self._names = frozenset(session.secrets)
        values = [facts.get(name) for facts in (session.params, session.state) for name in session.secrets]
        texts = {str(value) for value in values if value is not None}
        self._texts = sorted((text for text in texts if len(text) >= SHORTEST_IN_TEXT), key=len, reverse=True)

    def hide(self, value: T) -> T:
        """Return *value* without secrets, at any depth."""
        shown: T = self._hidden(value)
        return shown

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            for text in self._texts:
                value = value.replace(text, HIDDEN)
            return value
        if isinstance(value, Mapping):
            return Frozen({self._hidden(name): self._item(name, item) for name, item in value.items()})
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(map(self._hidden, value))
        return tuple(map(self._hidden, value)) if isinstance(value, (tuple, list)) else value

    def _item(self, name: str, item: Any) -> Any:
        is_fact = name in self._names and not hasattr(item, "_make")
        return HIDDEN if is_fact and item not in (None, "") else self._hidden(item)


def without_secrets(session: "Session") -> "Session":
    """Return *session* as it may be shown."""
    hide = Secrets(session).hide
    return session._replace(**{part: hide(getattr(session, part)) for part in _PARTS})
