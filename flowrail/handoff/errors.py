"""Errors that refuse a handoff. They name every problem, in the error document of the handoff schema.

error:
  code: INVALID_PAYLOAD | TARGET_NOT_FOUND | VALIDATION_FAILED | HEALTH_CHECK_FAILED | …
  message: what happened
  details: {missing_fields: [], validation_errors: [], target_skill: ""}
  recoverable: whether it can be tried again
  payload_preserved: the path of the saved payload, or null
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        return f"`{in_quotes(self.field)}` {self.message}" if self.field else self.message


def errors(problems: Iterable[PayloadProblem]) -> list[PayloadProblem]:
    """Return the problems that make a payload invalid. The others are warnings."""
    return [problem for problem in problems if problem.severity == ERROR]


def first_of(problems: Sequence[PayloadProblem]) -> list[PayloadProblem]:
    """Return the first hundred problems, and how many more there are."""
    more = len(problems) - MAX_LISTED
    rest = [PayloadProblem("handoff", f"has {more} more problems")] if more > 0 else []
    return [*problems[:MAX_LISTED], *rest]


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
        self.preserved = preserved
        self.beside = {"recoverable": recoverable, "payload_preserved": preserved}

    def document(self) -> dict[str, object]:
        """Return the error document of the schema."""
        return {"error": {"code": self.code, "message": self.message, "details": self.details, **self.beside}}


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
    problems: Sequence[PayloadProblem],
    *,
    hint: str | Hint | Command,
    preserved: str | None = None,
) -> HandoffRefusedError:
    """Return one refusal that names every error among *problems*."""
    serious = errors(problems)
    missing = list(dict.fromkeys(problem.field for problem in serious if problem.kind == MISSING))
    is_invalid = missing or any(problem.kind == INVALID for problem in serious)
    kind = InvalidPayloadError if is_invalid else ValidationFailedError
    rest = [f"and {len(serious) - _MAX_IN_MESSAGE} more"] if len(serious) > _MAX_IN_MESSAGE else []
    return kind(
        f"{summary}: {'; '.join([*map(str, serious[:_MAX_IN_MESSAGE]), *rest])}",
        hint=hint,
        recoverable=True,
        preserved=preserved,
        missing_fields=missing,
        validation_errors=[str(problem) for problem in serious if problem.kind != MISSING],
    )
