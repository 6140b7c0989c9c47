"""Errors that refuse a handoff. They name every problem, in the error document of the handoff schema.

error:
  code: INVALID_PAYLOAD | TARGET_NOT_FOUND | VALIDATION_FAILED | HEALTH_CHECK_FAILED | …
  message: what happened
  details: {missing_fields: [], validation_errors: [], target_skill: ""}
  recoverable: whether it can be tried again
  payload_preserved: the path of the saved payload, or null
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowrail.command import Command, Hint
from flowrail.errors import HandoffError
from flowrail.text.safe_text import in_quotes

MISSING, INVALID, INTEGRITY, EXPIRED = "missing", "invalid", "integrity", "expired"
ERROR, WARNING = "error", "warning"
MAX_LISTED, _MAX_IN_MESSAGE = 100, 20


@dataclass(frozen=True)
class PayloadProblem:
    """One problem of a payload: the field, what is wrong with it, and the kind of problem."""

    field: str
    message: str
    kind: str = INVALID
    severity: str = ERROR
    line: int = 0

    def __str__(self) -> str:
        return f"`{in_quotes(self.field)}` {self.message}"


class HandoffRefusedError(HandoffError):
    """The handoff cannot continue. The error says whether it can be tried again."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | Hint | Command,
        code: str | None = None,
        recoverable: bool = False,
        preserved: str | None = None,
        **details: object,
    ) -> None:
        super().__init__(message, hint=hint, code=code, **details)
        self.recoverable = recoverable
        self.beside = {"recoverable": recoverable, "payload_preserved": preserved}


class InvalidPayloadError(HandoffRefusedError):
    """The payload lacks a required field, or is not a payload."""

    code = "INVALID_PAYLOAD"


class TargetNotFoundError(HandoffRefusedError):
    """No skill has that name, or the skill changed after it was chosen."""

    code = "TARGET_NOT_FOUND"


class ValidationFailedError(HandoffRefusedError):
    """Every field is present, but the payload or the target fails a check."""

    code = "VALIDATION_FAILED"


class HealthCheckFailedError(HandoffRefusedError):
    """The target's own health check failed."""

    code = "HEALTH_CHECK_FAILED"


def payload_refusal(
    summary: str,
    errors: Sequence[PayloadProblem],
    *,
    hint: str | Hint | Command,
    preserved: str | None = None,
) -> HandoffRefusedError:
    """Return one refusal that names every error of a payload."""
    missing = list(dict.fromkeys(problem.field for problem in errors if problem.kind == MISSING))
    is_invalid = missing or any(problem.kind == INVALID for problem in errors)
    shown = [str(problem) for problem in errors[:_MAX_IN_MESSAGE]]
    if len(errors) > _MAX_IN_MESSAGE:
        shown.append(f"and {len(errors) - _MAX_IN_MESSAGE} more")
    return (InvalidPayloadError if is_invalid else ValidationFailedError)(
        f"{summary}: {'; '.join(shown)}",
        hint=hint,
        recoverable=True,
        preserved=preserved,
        missing_fields=missing,
        validation_errors=[str(problem) for problem in errors if problem.kind != MISSING],
    )
