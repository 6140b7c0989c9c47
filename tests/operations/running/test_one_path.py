"""A report does each of its expensive parts once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import home_skills, put_skill

from flowrail.cli.environment import SessionCall
from flowrail.machines.sessions import store
from flowrail.operations.running import steps
from flowrail.storage import journal

AUTHORED = """\
import os
from flowrail import Outcome, StepDef, Workflow


def log(name):
    with open(os.environ["CALLS"], "a") as file:
        file.write(name + "\\n")


def title(context):
    log("title")
    return "Second"


def handler(context):
    log("handler")
    return Outcome.OK


WORKFLOW = Workflow(
    "authored",
    StepDef("first", "First", ["Do."], handler, next={"ok": "second"}),
    StepDef("second", title, ["Do."], next={"ok": None}),
)
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls of each expensive function."""
    counted: Counter[str] = Counter()

    def count(module: object, name: str) -> None:
        original: Callable[..., Any] = getattr(module, name)

        def wrapper(*args: Any, **options: Any) -> Any:
            counted[name] += 1
            return original(*args, **options)

        monkeypatch.setattr(module, name, wrapper)

    count(journal, "opened")
    count(os, "fsync")
    count(store, "from_plain")
    count(steps, "guide")
    return counted


@pytest.mark.parametrize("named", [True, False])
def test_a_report_opens_parses_guides_and_flushes_once(calls: Counter[str], named: bool) -> None:
    put_skill("small")
    world = SessionCall().world
    session = steps.begin(world, "small").guidance.session
    calls.clear()

    answer = steps.report(world, "small", "ok", session_id=session if named else None, expect=0)

    assert answer.guidance.revision == 1
    assert calls == {"opened": 1, "from_plain": 1, "guide": 1, "fsync": 1}


def test_looking_at_a_session_writes_nothing_and_reads_everything_once(calls: Counter[str]) -> None:
    put_skill("small")
    world = SessionCall().world
    session = steps.begin(world, "small").guidance.session
    calls.clear()

    steps.resume(world, session)

    assert calls == {"opened": 1, "from_plain": 1, "guide": 1}


def test_a_report_calls_each_function_of_the_author_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    monkeypatch.setenv("CALLS", str(log))
    put_skill("authored", AUTHORED, where=home_skills(), file="workflow.py")
    world = SessionCall().world
    steps.begin(world, "authored")
    log.write_text("")

    steps.report(world, "authored", "done")

    assert log.read_text().split() == ["handler", "title"]
