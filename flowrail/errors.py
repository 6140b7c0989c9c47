"""Every refusal flowrail can give: a fact, a hint with the next thing to do, a stable code.

The tree, with the exit status that each branch ends a command with:

    FlowError                   1   failed: findings, a handler that raised
    ├── UsageError              2   wrong use: unknown skill, step, option, outcome, fact
    │   └── DocumentError       2   a file of the user's that cannot be read as what it should be
    ├── StorageError            3   the disk or the store said no
    ├── ConflictError           4   an old revision, an outcome not open now, a join or question pending
    ├── ChangedError            5   the definition changed under the session
    ├── HandoffError            6   a handoff was refused
    └── TrustError              7   code that is not approved

The message states the fact, lower case, without a full stop. The hint names one thing to do
next. ``details`` carry the values, so that JSON output needs no parsing of the message.
Anything raised that is no `FlowError` is a bug and keeps its traceback.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from flowrail.command import Command, Hint

_Refusal = TypeVar("_Refusal", bound="FlowError")


class FlowError(Exception):
    """A refusal: what is so, what to do next, and the values it is about."""

    code: ClassVar[str] = "FAILED"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | Hint | Command, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = Hint(hint) if isinstance(hint, Command) else hint
        self.details = details


class UsageError(FlowError):
    """The command, the option or the name is not one that exists."""

    code = "USAGE"
    exit_status = 2


class DocumentError(UsageError):
    """A file cannot be read as what it should be; ``place`` says where."""

    code = "DOCUMENT"

    def __init__(self, message: str, *, hint: str | Hint | Command, place: str, **details: object) -> None:
        super().__init__(f"{place}: {message}", hint=hint, place=place, **details)
        self.place = place
        self.fact = message


class StorageError(FlowError):
    """The disk or the store said no; nothing was acknowledged."""

    code = "STORAGE"
    exit_status = 3


class ConflictError(FlowError):
    """What was asked does not fit where things stand now."""

    code = "CONFLICT"
    exit_status = 4


class ChangedError(FlowError):
    """The definition changed under the session in a way that needs a decision."""

    code = "DEFINITION_CHANGED"
    exit_status = 5


class HandoffError(FlowError):
    """A handoff was refused."""

    code = "HANDOFF_REFUSED"
    exit_status = 6


class TrustError(FlowError):
    """Code would have to run that is not approved."""

    code = "NOT_TRUSTED"
    exit_status = 7


def alone(refusal: _Refusal) -> _Refusal:
    """Return *refusal* without where it came about, to be kept: that would keep what was being read."""
    refusal.__context__ = refusal.__cause__ = None
    return refusal.with_traceback(None)
