"""The errors of flowrail: a message, a hint and a stable code.

The tree, with the exit status of each branch:

    FlowError                   1   failed: findings, a handler that raised
    ├── UsageError              2   wrong use: unknown skill, step, option, outcome, fact
    │   └── DocumentError       2   a file that cannot be read
    ├── StorageError            3   the disk or the store failed
    ├── ConflictError           4   an old revision, an outcome that is not accepted now, an open question
    ├── ChangedError            5   the workflow changed during the session
    ├── HandoffError            6   a handoff was refused
    └── TrustError              7   code that is not approved

There is a class only where callers tell errors apart. Any other error is raised as one of these with its `code`,
a row of `flowrail.error_codes`. The message says what happened, in lower case and without a full stop. The hint says
what to do next. `details` holds the values for JSON output. An exception that is not a `FlowError` is a bug and keeps
its traceback.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.command import Command, Hint


class FlowError(Exception):
    """An error of flowrail: what happened, what to do next, and the values."""

    code: str = "FAILED"
    """What happened, as one of `error_codes.CODES`. A class has the code of its errors that have no other."""
    exit_status = 1

    def __init__(
        self, message: str, *, hint: str | Hint | Command, code: str | None = None, **details: object
    ) -> None:
        super().__init__(message)
        self.code = code or type(self).code
        self.message = message
        self.hint = Hint(hint) if isinstance(hint, Command) else hint
        self.details = details
        self.beside: Mapping[str, object] = {}
        """What the error document holds in addition to code, message, hint and details."""

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        """The hint, which Python prints below the traceback of a program."""
        return [str(self.hint)]


class UsageError(FlowError):
    """An unknown command, option or name, or a wrong value."""

    code = "USAGE"
    exit_status = 2


class DocumentError(UsageError):
    """A file cannot be read; `place` is its path, with a line if known."""

    code = "DOCUMENT"

    def __init__(
        self,
        message: str,
        *,
        hint: str | Hint | Command,
        place: str,
        code: str | None = None,
        **details: object,
    ) -> None:
        super().__init__(f"{place}: {message}", hint=hint, code=code, place=place, **details)
        self.place = place
        self.fact = message

    @property
    def line(self) -> int:
        """The line in ``place``; 0 if it is not known."""
        number = self.place.rpartition(":")[2]
        return int(number) if number.isdecimal() else 0


class StorageError(FlowError):
    """The disk or the store failed; nothing was recorded."""

    code = "STORAGE"
    exit_status = 3


class ConflictError(FlowError):
    """The request does not fit the current state."""

    code = "CONFLICT"
    exit_status = 4


class ChangedError(FlowError):
    """The workflow changed during the session, and the user must decide what to do."""

    code = "DEFINITION_CHANGED"
    exit_status = 5


class HandoffError(FlowError):
    """A handoff was refused."""

    code = "HANDOFF_REFUSED"
    exit_status = 6


class TrustError(FlowError):
    """The command would run code that is not approved."""

    code = "NOT_TRUSTED"
    exit_status = 7


ONLY_A_PERSON = "only a person at a terminal without an agent can approve this"


class NotConfirmedError(TrustError):
    """A person at the terminal was asked and did not type `yes`."""

    code = "NOT_CONFIRMED"


class ExtraMissingError(UsageError):
    """The command needs an extra of flowrail that is not installed."""

    code = "EXTRA_MISSING"


def require_extra(extra: str, *packages: str) -> None:
    """Refuse the command if a package of *extra* is not installed."""
    from importlib.util import find_spec  # 0.5 ms, which `flow step` does not need

    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ExtraMissingError(
            f"this command needs the package `{missing[0]}`, which is not installed",
            hint=f"pip install 'flowrail[{extra}]'",
            extra=extra,
        )
