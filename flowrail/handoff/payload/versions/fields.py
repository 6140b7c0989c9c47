"""Field types and list entries that several versions share, and readable messages for pydantic's errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from flowrail.handoff.errors import INVALID, MISSING, PayloadProblem

MAX_PROBLEMS, _MAX_NAME = 10_000, 200


def _timestamp(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("must be an ISO 8601 time, such as 2026-02-04T19:30:00Z") from None
    if not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}", text):
        raise ValueError("must have a time of day, such as 2026-02-04T19:30:00Z")
    return text


def _uuid(text: str) -> str:
    try:
        if str(UUID(text)) == text.lower():
            return text
    except ValueError:
        pass
    raise ValueError("must be a UUID, such as 0b0e6ac1-7c1f-4a53-9d0c-2f6f0c1d2e3f")


def filled(text: str) -> str:
    """Return *text* unless it is empty or only white space."""
    if not text.strip():
        raise ValueError("is empty")
    return text


Filled = Annotated[str, Field(min_length=1), AfterValidator(filled)]
Timestamp = Annotated[str, AfterValidator(_timestamp), Field(json_schema_extra={"format": "date-time"})]
Uuid = Annotated[str, AfterValidator(_uuid), Field(json_schema_extra={"format": "uuid"})]
Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Chain = Annotated[list[Filled], Field(min_length=1)]
EMPTY_LIST: Any = Field(default_factory=list)
Texts = Annotated[list[str], EMPTY_LIST]
ProblemType = Literal["decision", "creative", "analytical", "strategic"]
Level = Literal["high", "medium", "low", "none"]


class PayloadPart(BaseModel):
    """A part of a payload. Fields that the version does not define are ignored."""

    model_config = ConfigDict(strict=True, extra="allow")


class ConvergentInsight(PayloadPart):
    """A theme that several perspectives share."""

    theme: Filled
    confidence_score: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None = None
    contributing_archetypes: Texts
    key_evidence: Texts


class DivergentInsight(PayloadPart):
    """An insight that only one perspective has."""

    archetype: Filled
    insight: Filled
    confidence: Annotated[int, Field(ge=1, le=5)] | None = None


class SearchTerm(PayloadPart):
    """What to search for, and why."""

    term: Filled
    rationale: str = ""


_MESSAGES = {
    "missing": "is missing",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be a mapping",
    "dict_type": "must be a mapping",
    "finite_number": "must be a finite number",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "literal_error": "must be {expected}",
    "string_too_long": "is longer than {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "value_error": "{error}",
}


def problems_of(model: type[BaseModel], value: object) -> list[PayloadProblem]:
    """Return every problem that keeps *value* from being a *model*."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        if (number := error.error_count()) > MAX_PROBLEMS:
            return [PayloadProblem("handoff", f"has {number} problems, too many to list")]
        found = error.errors(include_url=False, include_input=False)
        return list(dict.fromkeys(_problem(detail) for detail in found))
    return []


def _problem(detail: Any) -> PayloadProblem:
    kind = str(detail["type"])
    field = ".".join(str(part)[:_MAX_NAME] for part in detail["loc"])
    template = _MESSAGES.get(kind)
    message = template.format(**detail.get("ctx", {})) if template else f"is invalid: {detail['msg']}"
    if kind == "literal_error":
        message = message.replace("'", "`")
    return PayloadProblem(field, message, MISSING if message in {"is missing", "is empty"} else INVALID)


def unknown_fields(model: type[BaseModel], value: object) -> Iterator[str]:
    """Yield the fields of *value* that its version does not define; nothing if it is invalid."""
    try:
        document = model.model_validate(value)
    except ValidationError:
        return
    yield from _extra(document, "")


def _extra(part: object, path: str) -> Iterator[str]:
    if isinstance(part, BaseModel):
        for name in part.model_extra or {}:
            yield f"{path}{name}"
        for name in type(part).model_fields:
            yield from _extra(getattr(part, name), f"{path}{name}.")
    elif isinstance(part, list):
        for index, item in enumerate(part):
            yield from _extra(item, f"{path}{index}.")
