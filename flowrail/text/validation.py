"""The bounds of values in documents that people write, and the errors of pydantic in our words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "is not a known key",
    "unexpected_keyword_argument": "is not a known key",
    "string_type": "must be text",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "string_too_long": "is longer than {max_length} characters",
    "too_long": "is longer than {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "is_instance_of": "must be a list",
    "dict_type": "must be a mapping",
    "mapping_type": "must be a mapping",
    "model_type": "must be a mapping",
    "dataclass_type": "must be a mapping",
    "dataclass_exact_type": "must be {class_name}(...)",
    "callable_type": "must be a function",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def in_words(detail: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, in words that follow its name."""
    template = _MESSAGES.get(detail["type"])
    if template is None:
        return f"is invalid: {detail['msg']}"
    return template.format(**detail.get("ctx", {})).replace("'", "`")


class Bounds:
    """Bounds of a value, named as in pydantic: ``Annotated[int, Bounds(ge=1)]``.

    The classes of ``annotated_types`` say the same, but every step would import them, and only readers of files use them.
    """

    def __init__(self, **bounds: float) -> None:
        self.bounds = bounds

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Any]) -> Any:
        """Return the schema of the value with its bounds."""
        return {**handler(source), **self.bounds}
