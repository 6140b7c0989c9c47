"""Whether a JSON document matches a JSON Schema of a skill."""

from __future__ import annotations

import json
from typing import Any

from flowrail.errors import DocumentError
from flowrail.evidence.project_files import UnreadableError
from flowrail.text import json as strict_json

MOST_PROBLEMS = 3
_LONGEST = 200


def problems(document: bytes, schema: str) -> list[str]:
    """Return the first problems of a document; empty if it matches."""
    try:
        value = strict_json.load(document.decode(), source="")
    except UnicodeDecodeError:
        return ["it is not JSON (it is not UTF-8)"]
    except DocumentError as error:
        return [f"it is not JSON ({error.fact[:_LONGEST]})"]
    return _mismatches(value, json.loads(schema))


def _mismatches(value: Any, schema: dict[str, object]) -> list[str]:
    # Few steps demand JSON, and the import takes longer than a step.
    import jsonschema
    import referencing.exceptions

    validator_class = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        validator_class.check_schema(schema)
        validator = validator_class(schema, registry=referencing.Registry())
        mismatches = []
        for error in validator.iter_errors(value):
            path = "/".join(str(part) for part in error.absolute_path)
            mismatches.append(f"{path or 'the document'}: {error.message[:_LONGEST]}")
            if len(mismatches) == MOST_PROBLEMS:
                break
    except jsonschema.SchemaError as error:
        raise UnreadableError(f"the schema is invalid: {error.message[:_LONGEST]}") from None
    except (referencing.exceptions.Unresolvable, RecursionError) as error:
        raise UnreadableError(f"the schema cannot be used: {str(error)[:_LONGEST]}") from None
    return mismatches
