"""A hostile skill gets an answer or an error from every command, and none of its code runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import pytest
from support import hostile
from support.canary import nothing_runs, plant
from support.judge import judged
from support.sandbox import CARD, SMALL, project_skills

COMMANDS = (
    ["check", "evil", "--json"],
    ["discover", "--all", "--json"],
    ["step", "evil", "--format", "xml"],
)
MORE_COMMANDS = (
    ["list", "--json"],
    ["show", "evil", "--json"],
    ["diagram", "evil"],
    ["skill", "preview", "evil", "first", "--format", "text"],
    ["step", "evil", "ok", "--format", "xml"],
    ["test", "evil"],
    ["discover", "--why", "evil", "--json"],
    ["discover", "--recursive", "--all"],
    ["registry", "sync", "--dry-run"],
    ["skill", "trust", "evil", "--digest", "0"],
    ["status"],
    ["resume"],
    ["sessions", "--json"],
    ["session", "verify"],
    ["doctor", "--json"],
)

STEPS = SMALL.replace("    actions: [Do the first thing.]", "").replace(
    "actions: [Do the first thing.], ", ""
)


def put(path: str, data: bytes) -> None:
    """Write a skill in order but for *data* at *path*."""
    folder = project_skills() / "evil"
    entry = {} if path == "workflow.py" else {"workflow.yaml": STEPS.replace("NAME", "evil").encode()}
    for name, content in {
        "SKILL.md": CARD.replace("NAME", "evil").encode(),
        "steps/first.md": b"Do the first thing.\n",
        **entry,
        path: data,
    }.items():
        full = folder / name
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(content)


def python() -> Iterator[tuple[str, bytes]]:
    for name, data in hostile.python_files():
        yield name, data.replace(b"NAME", b"evil").replace(b"CANARY", repr("CANARY").encode())


def typed() -> Iterator[tuple[str, bytes]]:
    step: dict[str, object] = {
        "id": "first", "title": "First", "actions": ["x"], "next": {"ok": "second"}, "limit": 3,
        "reports": {"a": {"type": "string", "choices": ["x"], "required": True}},
        "rules": [{"if": "a == 'x'", "outcome": "ok"}], "when": "mode == 'full'", "phase": "p",
        "variants": [{"when": "visit > 1", "actions": ["y"]}],
        "dispatch": {"agent": "explore", "run": "evil", "over": "areas", "vars": {"a": "$item"}, "join": "all"},
        "questions": [{"id": "q", "header": "h", "text": "t", "options": [{"label": "A", "outcome": "ok"}]}],
        "gate": {"name": "g", "review": "first", "limit": 5},
    }  # fmt: skip
    document: dict[str, object] = {
        "name": "evil", "description": "x", "params": {"mode": {"type": "string", "default": "full"}},
        "steps": [step, {"id": "second", "title": "S", "actions": ["z"], "next": {"ok": None}}],
    }  # fmt: skip
    for name, value in hostile.wrong_types(document):
        yield name, json.dumps(value).encode()
    for name, value in hostile.wrong_types(step):
        yield f"step.{name}", json.dumps({**document, "steps": [value]}).encode()


MAKERS: Mapping[str, Callable[[], Iterator[tuple[str, bytes]]]] = {
    "workflow.yaml": hostile.yaml_documents,
    "workflow.py": python,
    "SKILL.md": hostile.cards,
    "steps/first.md": hostile.step_texts,
}
CASES = [(path, name, data) for path, make in MAKERS.items() for name, data in make()]


@pytest.mark.parametrize(("path", "data"), [pytest.param(p, d, id=f"{p}: {n}") for p, n, d in CASES])
def test_a_hostile_file_of_a_skill_is_answered_or_refused(path: str, data: bytes) -> None:
    plant()
    put(path, data)

    with nothing_runs():
        for words in COMMANDS:
            judged(*words)


@pytest.mark.long
@pytest.mark.parametrize(("path", "data"), [pytest.param(p, d, id=f"{p}: {n}") for p, n, d in CASES])
def test_a_hostile_file_of_a_skill_breaks_no_other_command(path: str, data: bytes) -> None:
    plant()
    put(path, data)

    with nothing_runs():
        for words in MORE_COMMANDS:
            judged(*words)


@pytest.mark.parametrize("field", sorted({name.partition(" ")[0] for name, _ in typed()}))
def test_a_workflow_of_wrong_types_is_answered_or_refused(field: str) -> None:
    for name, data in typed():
        if name.partition(" ")[0] == field:
            put("workflow.yaml", data)
            judged("check", "evil", "--json")
