"""Hostile input files of commands: payloads, facts, questions, findings and the registry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support import hostile
from support.canary import nothing_runs, plant
from support.handing import ours
from support.handoffs import FILES, example
from support.judge import judged
from support.sandbox import ASKING, put_skill, told

from flowrail.discovery.registry_file import REGISTRY_FILE

PAYLOAD: Sequence[Sequence[str]] = (
    ["handoff", "validate", "given", "--json"],
    ["handoff", "validate", "given"],
    ["handoff", "convert", "given", "--to", "3.0", "--force", "--json"],
    ["handoff", "convert", "given", "--to", "2.0", "--force"],
    ["handoff", "receive", "given", "--force", "--json"],
    ["handoff", "status", "--json"],
)
FACTS: Sequence[Sequence[str]] = (
    ["step", "asking", "done", "--facts", "given", "--json"],
    ["step", "asking", "done", "--facts", "given"],
    ["ask", "ID", "given", "--json"],
    ["finding", "add", "ID", "--severity", "MUST", "--file", "given", "--json"],
    ["finding", "list", "ID"],
    ["resume", "ID", "--format", "xml"],
    ["resume", "ID", "--format", "text"],
)
REGISTRY: Sequence[Sequence[str]] = (
    ["registry", "show"],
    ["registry", "show", "--json"],
    ["registry", "check", "--json"],
    ["registry", "sync", "--dry-run"],
    ["discover", "--all", "--json"],
    ["discover", "--all"],
)
QUESTIONS = """\
<open_questions><question id="Q1"><header>H</header><text>%s</text>
<option label="A">%s</option><option label="B">b</option></question></open_questions>
"""


def documents() -> Iterator[tuple[str, bytes]]:
    yield from hostile.yaml_documents()
    yield from ((f"JSON: {name}", data) for name, data in hostile.json_documents())


def of_wrong_types(values: Sequence[str]) -> Iterator[tuple[str, dict[str, object]]]:
    for version in FILES:
        handoff = example(version)
        for name, wrong in hostile.wrong_types(handoff, values=values):
            yield f"{version}: {name}", {"handoff": wrong}


def filled(value: Any, text: str) -> Any:
    """Return *value* with every text of some length in it replaced."""
    if isinstance(value, Mapping):
        return {key: filled(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, text) for item in value]
    return (
        f"{text} {value}"
        if isinstance(value, str) and len(value) > len("2026-02-04T19:30:00.000Z")
        else value
    )


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in documents()])
def test_a_hostile_payload_is_refused(data: bytes) -> None:
    plant()
    Path("given").write_bytes(data)

    with nothing_runs():
        for words in PAYLOAD:
            assert judged(*words).status in ({0} if "status" in words else {1, 2, 6})


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in hostile.json_documents()])
def test_hostile_facts_questions_and_findings_are_answered_or_refused(data: bytes) -> None:
    put_skill("asking", ASKING)
    session = told("step", "asking")["session"]
    Path("given").write_bytes(data)

    for words in FACTS:
        judged(*(each.replace("ID", session) for each in words))


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in hostile.yaml_documents()])
def test_a_hostile_registry_costs_the_registry_only(data: bytes) -> None:
    registry = Path(os.environ["HOME"], ".claude", REGISTRY_FILE)
    registry.parent.mkdir(parents=True, exist_ok=True)
    registry.write_bytes(data)

    for words in REGISTRY:
        judged(*words)


def test_payloads_of_wrong_types_are_answered_or_refused() -> None:
    for _, document in islice(of_wrong_types(hostile.FEW), None, None, 8):
        Path("given").write_text(json.dumps(document))
        for words in PAYLOAD[:3]:
            judged(*words)


TEXTS = [pytest.param(text, id=name) for name, text in {**hostile.HIDDEN, **hostile.MARKUP}.items()]


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_payload_says_shows_itself_everywhere(text: str) -> None:
    ours("lit-pm", schema_version='"2.0"')
    for version in FILES:
        Path("given").write_text(json.dumps({"handoff": filled(example(version), text)}))
        for words in PAYLOAD:
            judged(*words)


@pytest.mark.parametrize("text", TEXTS)
def test_what_an_agent_reports_shows_itself_everywhere(text: str) -> None:
    put_skill("asking", ASKING)
    session = told("step", "asking")["session"]
    Path("given").write_bytes((QUESTIONS % (text, text)).encode("utf-8", "surrogatepass"))
    said = text.replace("\0", "")

    judged("ask", session, "given", "--format", "xml")
    judged("finding", "add", session, "--severity", "MUST", "--text", said, "--json")
    judged(
        "step",
        "asking",
        "done",
        "-s",
        f"note={said}",
        "-s",
        "sure=high",
        "-s",
        'where=["x"]',
        "--format",
        "xml",
    )
    for words in (
        ["resume", session],
        ["status", session],
        ["history", session],
        ["finding", "list", session],
    ):
        judged(*words)
        judged(*words, "--json")
    judged("session", "abandon", session, "--reason", said)
    judged("sessions", "--all")
    judged("audit")
