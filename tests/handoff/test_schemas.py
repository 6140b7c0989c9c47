"""Payloads follow the published schemas: those we write are valid by them, and our verdict differs only where listed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from support.handoffs import payload_of, session, target
from support.payloads import NOW, PAYLOADS, example
from support.sandbox import told

from flowrail.handoff.payload.convert import convert
from flowrail.handoff.payload.models import json_schema, shape_of

SCHEMAS = {
    version: jsonschema.Draft202012Validator(yaml.safe_load((PAYLOADS.parent / "schemas" / file).read_text()))
    for version, file in (("2.0", "v2.yaml"), ("3.0", "v3.yaml"))
}
OURS = {version: jsonschema.Draft202012Validator(json_schema(version)) for version in SCHEMAS}
ODD_VALUES: tuple[Any, ...] = (
    None, "", "  ", "text", "2.0", "3.0", "x" * 501, 0, -1, 3, 7, 11, 2001, 1.5, 5.0, True, [], ["text"], [1], [{}],
    {}, {"a": "b"}, {"a": 1}, "high", "strategic", "research", "2026-02-04", "2026-02-04T19:30:00Z",
    "sha256:" + "0" * 64, "0b0e6ac1-7c1f-4a53-9d0c-2f6f0c1d2e3f",
)  # fmt: skip
FieldPath = tuple[str | int, ...]


def paths(value: Any, at: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the path of every field and list entry below *at*."""
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def mutations(handoff: dict[str, Any]) -> Iterator[tuple[FieldPath, Any, dict[str, Any]]]:
    """Yield copies of a payload, each with one field removed (`...`), replaced, or added."""
    for path in paths(handoff):
        for value in (..., *ODD_VALUES):
            changed = copy.deepcopy(handoff)
            inner: Any = changed
            for step in path[:-1]:
                inner = inner[step]
            if value is not ...:
                inner[path[-1]] = value
            elif isinstance(inner, dict):
                del inner[path[-1]]
            else:
                inner.pop(path[-1])
            yield path, value, changed
    yield ("unknown",), "text", {**handoff, "unknown": "text"}


def difference(version: str, path: FieldPath, value: Any) -> str:
    """Return why our verdict on a value may differ from the schema's; empty if it may not. See the reference."""
    name = next(step for step in reversed(path) if isinstance(step, str))
    if isinstance(value, str) and not value.strip() and name not in {"focus_areas", "known_gaps"}:
        return "blank text"
    if value == 5.0 and isinstance(value, float):
        return "a whole number with a fraction"
    if name in {"timestamp", "expires_at"} and isinstance(value, str):
        return "a time"
    if version == "3.0" and path == ("unknown",):
        return "an unknown field"
    if version == "2.0" and path[0] == "references":
        return "references"
    return ""


@pytest.mark.parametrize("version", SCHEMAS)
def test_our_verdict_is_that_of_the_published_rules(version: str) -> None:
    differing: set[str] = set()
    for path, value, changed in mutations(example(version)):
        ours = not shape_of(version, changed)[0]
        theirs = SCHEMAS[version].is_valid({"handoff": changed})
        if ours != theirs:
            reason = difference(version, path, value)
            assert reason, f"{'.'.join(map(str, path))} = {value!r}: ours {ours}, theirs {theirs}"
            differing.add(reason)

    page = (Path(__file__).parents[2] / "docs/reference/handoff.md").read_text(encoding="utf-8")
    assert all(f"| {reason} |" in page for reason in differing)


@pytest.mark.parametrize("version", SCHEMAS)
def test_our_json_schema_refuses_what_our_models_refuse(version: str) -> None:
    for path, value, changed in mutations(example(version)):
        if (
            difference(version, path, value) or path[-1] == "trace_id"
        ):  # blanks, times and UUIDs are read by code
            continue
        ours = not shape_of(version, changed)[0]

        assert OURS[version].is_valid({"handoff": changed}) == ours, (path, value)


@pytest.mark.parametrize(
    ("source", "target"), [("1.0", "2.0"), ("1.0", "3.0"), ("2.0", "3.0"), ("3.0", "2.0")]
)
@pytest.mark.parametrize(
    "timestamp", ["2026-02-04T19:30:00Z", "2026-02-04 19:30", "20260204T193000+0100", "2026-02-04"]
)
def test_every_converted_payload_is_valid_by_the_published_rules(
    source: str, target: str, timestamp: str
) -> None:
    converted = convert(source, {**example(source), "timestamp": timestamp}, target, now=NOW)

    document = json.loads(json.dumps({"handoff": converted.handoff}))
    assert [error.message for error in SCHEMAS[target].iter_errors(document)] == []
    assert not shape_of(target, converted.handoff)[0]


@pytest.mark.parametrize("version", SCHEMAS)
def test_every_sent_payload_is_valid_by_the_published_rules(version: str) -> None:
    target("digger", schema_version=f'"{version}"')
    Path("notes.md").write_text("noted")
    session_id = session("source", "-s", "notes_file=notes.md", "-s", 'areas=["a"]')
    facts = {
        "uncertainties": ["x"], "convergent_insights": [{"theme": "A", "confidence_score": 8}, "B"],
        "divergent_insights": [{"archetype": "a", "insight": "b", "confidence": 9}], "confidence_scale": "0-10",
        "suggested_terms": ["t"], "convergence_level": "low", "focus_areas": ["y"], "problem_type": "research",
        "budget": 3, "nested": {"a": [1, None, 2.5]},
    }  # fmt: skip
    Path("facts.json").write_text(json.dumps(facts))

    for words in (["--session", session_id], ["--from", "source", "-s", "prompt=Why?"]):
        sent = told("handoff", "send", "digger", *words, "--facts", "facts.json", "--reason", "why")
        document = json.loads(json.dumps({"handoff": payload_of(sent)}))

        assert [error.message for error in SCHEMAS[version].iter_errors(document)] == []
