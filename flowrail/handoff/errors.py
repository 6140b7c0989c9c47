"""What is wrong with a payload or a handoff: all of it at once, in the error document of the schema.

error:
  code: INVALID_PAYLOAD | TARGET_NOT_FOUND | VALIDATION_FAILED | HEALTH_CHECK_FAILED
  message: what is so
  details: {missing_fields: [], validation_errors: [], target_skill: ""}
  recoverable: whether it can be tried again
  payload_preserved: the path of the saved payload, or null
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import HandoffError
from flowrail.text.safe_text import in_quotes

MISSING, INVALID, UNKNOWN, INTEGRITY, EXPIRED = "missing", "invalid", "unknown", "integrity", "expired"
ERROR, WARNING = "error", "warning"
MOST_TOLD, _MOST_SAID = 100, 20


class Problem(NamedTuple):
    """One thing wrong with a payload: which field, what is so, and of which kind."""

    field: str
    message: str
    kind: str = INVALID
    severity: str = ERROR
    line: int = 0

    def __str__(self) -> str:
        return f"`{in_quotes(self.field)}` {self.message}" if self.field else self.message


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return those that make a payload unfit; the others are told and no more."""
    return [each for each in problems if each.severity == ERROR]


def few(problems: Sequence[Problem]) -> list[Problem]:
    """Return the first of many, and that there are more."""
    more = len(problems) - MOST_TOLD
    return [*problems[:MOST_TOLD], *([Problem("handoff", f"has {more} more mistakes")] if more > 0 else [])]


class Refusal(HandoffError):  # noqa: N818 - the room's own word; those below are the errors
    """A handoff that does not go on: its code, what is wrong, and whether it can be mended."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | Hint | Command,
        recoverable: bool = False,
        preserved: str | None = None,
        **details: object,
    ) -> None:
        super().__init__(message, hint=hint, **details)
        self.recoverable = recoverable
        self.preserved = preserved

    @property
    def beside(self) -> dict[str, Any]:
        """What the error document holds beside code, message and details."""
        return {"recoverable": self.recoverable, "payload_preserved": self.preserved}

    def document(self) -> dict[str, Any]:
        """Return the error document of the schema."""
        return {"error": {"code": self.code, "message": self.message, "details": self.details, **self.beside}}


class InvalidPayloadError(Refusal):
    """The payload lacks something that it must have, or is no payload at all."""

    code = "INVALID_PAYLOAD"


class TargetNotFoundError(Refusal):
    """No skill in sight goes by that name, or it is not the one that was chosen any more."""

    code = "TARGET_NOT_FOUND"


class ValidationFailedError(Refusal):
    """Everything is there, but it does not hold."""

    code = "VALIDATION_FAILED"


class HealthCheckFailedError(Refusal):
    """The target's own check says that it cannot work."""

    code = "HEALTH_CHECK_FAILED"


class AlreadyTakenError(Refusal):
    """Somebody has received this payload before."""

    code = "ALREADY_TAKEN"


class ClosedError(Refusal):
    """The handoff is over; nothing more happens to it."""

    code = "HANDOFF_CLOSED"


def refuse(
    what: str, problems: Sequence[Problem], *, hint: str | Hint | Command, preserved: str | None = None
) -> Refusal:
    """Return the one refusal that names every error among *problems*."""
    wrong = errors(problems)
    missing = [each.field for each in wrong if each.kind == MISSING]
    shape = missing or any(each.kind in {INVALID, UNKNOWN} for each in wrong)
    kind = InvalidPayloadError if shape else ValidationFailedError
    more = [f"and {len(wrong) - _MOST_SAID} more"] if len(wrong) > _MOST_SAID else []
    return kind(
        f"{what}: {'; '.join([*map(str, wrong[:_MOST_SAID]), *more])}",
        hint=hint,
        recoverable=True,
        preserved=preserved,
        missing_fields=missing,
        validation_errors=[str(each) for each in wrong if each.kind != MISSING],
    )
