"""Kinds of fields that all versions share, and how a shape is read and told."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from flowrail.handoff.errors import (
    INVALID,
    MISSING,
    UNKNOWN,
    Problem,
)

MOST_NAMED, _LONGEST_NAME = 10_000, 200
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is no ISO 8601 moment, such as 2026-02-04T19:30:00Z") from None
    if not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}", text):
        raise ValueError("has no time of day, write it as in 2026-02-04T19:30:00Z")
    return text


def _uuid(text: str) -> str:
    try:
        if str(UUID(text)) == text.lower():
            return text
    except ValueError:
        pass
    raise ValueError("is no UUID, such as 0b0e6ac1-7c1f-4a53-9d0c-2f6f0c1d2e3f")


def filled(text: str) -> str:
    """Return *text* if it says anything."""
    if not text.strip():
        raise ValueError("is empty")
    return text


Filled = Annotated[str, Field(min_length=1), AfterValidator(filled)]
Moment = Annotated[str, AfterValidator(_moment), Field(json_schema_extra={"format": "date-time"})]
Uuid = Annotated[str, AfterValidator(_uuid), Field(json_schema_extra={"format": "uuid"})]
Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]
NONE: Any = Field(default_factory=list)
Texts = Annotated[list[str], NONE]
ProblemType = Literal["decision", "creative", "analytical", "strategic"]
Level = Literal["high", "medium", "low", "none"]


class Open(BaseModel):
    """A part that may hold more than is known here: what is unknown is passed over on receipt."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Closed(BaseModel):
    """A part that holds what is known here and nothing else."""

    model_config = ConfigDict(strict=True, extra="forbid")


_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known in this version",
    "string_type": "is no text",
    "int_type": "is no whole number",
    "float_type": "is no number",
    "bool_type": "is neither true nor false",
    "list_type": "is no list",
    "model_type": "is no mapping",
    "dict_type": "is no mapping",
    "finite_number": "is no finite number",
}


def problems_of(model: type[BaseModel], value: Any) -> list[Problem]:
    """Return every way in which *value* is no *model*, each field once; of too many no more than how many."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        if (number := error.error_count()) > MOST_NAMED:
            return [Problem("handoff", f"has {number} mistakes, too many to name them")]
        found = error.errors(include_url=False, include_input=False)
        return list(dict.fromkeys(_problem(each) for each in found))
    return []


def _problem(found: Any) -> Problem:
    kind, context = str(found["type"]), found.get("ctx", {})
    field = ".".join(str(part)[:_LONGEST_NAME] for part in found["loc"])
    if kind == "literal_error":
        words = f"is none of {context['expected']}".replace("'", "`").replace(" or ", ", ")
    elif kind in {"string_too_short", "string_too_long"}:
        short = kind == "string_too_short"
        bound = context["min_length" if short else "max_length"]
        words = "is empty" if bound == 1 and short else f"has more than {bound} characters"
    elif kind == "string_pattern_mismatch":
        words = f"does not look like {context['pattern']}"
    elif kind in {"greater_than_equal", "less_than_equal"}:
        words = f"is {'less' if 'ge' in context else 'more'} than {context.get('ge', context.get('le'))}"
    elif kind == "value_error":
        words = str(context["error"])
    else:
        words = _WORDS.get(kind) or f"does not fit: {str(found['msg'])[:1].lower()}{str(found['msg'])[1:]}"
    sort = {"missing": MISSING, "extra_forbidden": UNKNOWN}.get(kind, INVALID)
    empty = kind in {"string_too_short", "value_error"} and words == "is empty"
    return Problem(field, words, MISSING if empty else sort)


def schema_of(model: type[BaseModel], title: str) -> dict[str, Any]:
    """Return the JSON Schema of a document."""
    return {"$schema": SCHEMA_ID, **model.model_json_schema(), "title": title}
