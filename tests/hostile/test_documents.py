"""Hostile documents: each command answers or refuses them, and runs none of their code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
from support import hostile_documents
from support.answers import checked
from support.canary import nothing_runs, plant
from support.payloads import FILES, example
from support.sandbox import ASKING, CARD, project_skills, put_skill, told

from flowrail.discovery.registry import REGISTRY_FILE

Documents = Iterator[tuple[str, bytes]]

WORKFLOW = """\
name: evil
steps:
  - {id: first, title: First, next: {ok: second, fail: null}}
  - {id: second, title: Second, actions: [Do the second thing.], next: {ok: null, skip: null}}
"""
READING = ("check evil --json", "discover --all --json", "step evil --format xml")
OTHERS = (
    "list --json", "show evil --json", "diagram evil", "show evil first --format text", "step evil ok --format xml",
    "test evil", "discover --all --json", "discover --all", "registry sync --check",
    "trust evil --digest 0", "resume", "sessions --json", "audit --verify", "doctor --json",
)  # fmt: skip
PAYLOAD = (
    "handoff check given --json", "handoff check given", "handoff check given --to 3.0 --json",
    "handoff check given --to 2.0", "handoff receive given --force --json",
)  # fmt: skip
REPORT = (
    "step asking done --facts given --json", "ask ID given --json", "finding add ID --severity MUST --file given --json",
    "finding list ID", "resume ID --format xml", "resume ID --format text",
)  # fmt: skip
REGISTRY = (
    "registry sync --check",
    "discover --all",
)


def run_each(lines: Sequence[str], **names: str) -> None:
    """Run command lines with *names* replaced, and check their answers."""
    for line in lines:
        checked(*(names.get(word, word) for word in line.split()))


def put(path: str, data: bytes) -> None:
    """Write a correct skill with *data* in one of its files."""
    entry = {} if path == "workflow.py" else {"workflow.yaml": WORKFLOW.encode()}
    card, text = CARD.replace("NAME", "evil").encode(), b"Do the first thing.\n"
    for name, content in {"SKILL.md": card, "steps/first.md": text, **entry, path: data}.items():
        file = project_skills() / "evil" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def python() -> Documents:
    for name, data in hostile_documents.python_files():
        yield name, data.replace(b"NAME", b"evil").replace(b"CANARY", repr("CANARY").encode())


FILES_OF_A_SKILL = {
    "workflow.yaml": hostile_documents.yaml_documents,
    "workflow.py": python,
    "SKILL.md": hostile_documents.cards,
    "steps/first.md": hostile_documents.step_texts,
}
CASES = [
    pytest.param(path, data, id=f"{path}: {name}")
    for path, documents in FILES_OF_A_SKILL.items()
    for name, data in documents()
]


def ids(documents: Iterable[tuple[str, bytes]]) -> list[object]:
    return [pytest.param(data, id=name) for name, data in documents]


@pytest.mark.parametrize(("path", "data"), CASES)
@pytest.mark.parametrize(
    "lines", [READING, pytest.param(OTHERS, marks=pytest.mark.long)], ids=["reading", "others"]
)
def test_a_hostile_file_of_a_skill_is_answered_or_refused(
    path: str, data: bytes, lines: Sequence[str]
) -> None:
    plant()
    put(path, data)

    with nothing_runs():
        run_each(lines)


def test_a_workflow_with_wrong_types_is_answered_or_refused() -> None:
    step: dict[str, object] = {
        "id": "first", "title": "First", "actions": ["x"], "next": {"ok": "second"}, "limit": 3,
        "reports": {"a": {"type": "string", "choices": ["x"], "required": True}},
        "rules": [{"if": "a == 'x'", "outcome": "ok"}], "when": "mode == 'full'", "phase": "p",
        "variants": [{"when": "visit > 1", "actions": ["y"]}],
        "dispatch": {"agent": "explore", "run": "evil", "over": "areas", "vars": {"a": "$item"}, "join": "all"},
        "questions": [{"id": "q", "header": "h", "text": "t", "options": [{"label": "A", "outcome": "ok"}]}],
        "gate": {"name": "g", "review": "first", "limit": 5},
    }  # fmt: skip
    workflow: dict[str, object] = {
        "name": "evil", "description": "x", "params": {"mode": {"type": "string", "default": "full"}},
        "steps": [step, {"id": "second", "title": "S", "actions": ["z"], "next": {"ok": None}}],
    }  # fmt: skip
    wrong_steps = ({**workflow, "steps": [wrong]} for _, wrong in hostile_documents.wrong_types(step))

    for document in (*(wrong for _, wrong in hostile_documents.wrong_types(workflow)), *wrong_steps):
        put("workflow.yaml", json.dumps(document).encode())
        run_each(["check evil --json"])


@pytest.mark.parametrize(
    "data", ids((*hostile_documents.yaml_documents(), *hostile_documents.json_documents()))
)
def test_a_hostile_payload_is_refused(data: bytes) -> None:
    plant()
    Path("given").write_bytes(data)

    with nothing_runs():
        for line in PAYLOAD:
            assert checked(*line.split()).status in {1, 2, 6}


def test_payloads_with_wrong_types_are_answered_or_refused() -> None:
    wrong = (document for version in FILES for _, document in hostile_documents.wrong_types(example(version)))

    for document in islice(wrong, None, None, 8):
        Path("given").write_text(json.dumps({"handoff": document}))
        run_each(PAYLOAD[:3])


@pytest.mark.parametrize("data", ids(hostile_documents.json_documents()))
def test_hostile_facts_questions_and_findings_are_answered_or_refused(data: bytes) -> None:
    put_skill("asking", ASKING)
    session = told("step", "asking")["session"]
    Path("given").write_bytes(data)

    run_each(REPORT, ID=session)


@pytest.mark.parametrize("data", ids(hostile_documents.yaml_documents()))
def test_a_hostile_registry_is_answered_or_refused(data: bytes) -> None:
    registry = Path(os.environ["HOME"], ".claude", REGISTRY_FILE)
    registry.parent.mkdir(parents=True, exist_ok=True)
    registry.write_bytes(data)

    run_each(REGISTRY)
