"""A report does each of its expensive parts once, and goes straight from layer to layer."""

from __future__ import annotations

import os
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support.sandbox import home_skills, put_skill

import flowrail
from flowrail.cli.main import main as run_words
from flowrail.machines import session_store
from flowrail.operations.environment import Environment
from flowrail.operations.steps import current_step as steps
from flowrail.operations.steps import shown_step
from flowrail.operations.steps.new_session import begin
from flowrail.storage import journal

PACKAGE = Path(flowrail.__file__).parent
CONTRACTS = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
LAYERS: list[str] = CONTRACTS[0]["layers"]
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


def run(*words: str) -> int:
    return run_words(words)


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
    count(session_store, "from_plain")
    count(shown_step, "guide")
    return counted


def test_a_report_opens_parses_guides_and_flushes_once(calls: Counter[str]) -> None:
    put_skill("small")
    world = Environment()
    session = begin(world, "small").session
    calls.clear()

    answer = steps.report(world, "small", "ok", session_id=session, expect=0)

    assert answer.revision == 1
    assert calls == {"opened": 1, "from_plain": 1, "guide": 1, "fsync": 1}


def test_looking_at_a_session_writes_nothing_and_reads_everything_once(calls: Counter[str]) -> None:
    put_skill("small")
    world = Environment()
    session = begin(world, "small").session
    calls.clear()

    steps.resume(world, session)

    assert calls == {"opened": 1, "from_plain": 1, "guide": 1}


def test_a_report_calls_each_function_of_the_author_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    monkeypatch.setenv("CALLS", str(log))
    put_skill("authored", AUTHORED, where=home_skills(), file="workflow.py")
    world = Environment()
    begin(world, "authored")
    log.write_text("")

    steps.report(world, "authored", "done")

    assert log.read_text().split() == ["handler", "title"]


def test_a_report_never_calls_from_a_lower_layer_into_a_higher_one() -> None:
    put_skill("small")
    run("step", "small")
    upward: set[tuple[str, str]] = set()

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        caller, callee = frame.f_back and _layer(frame.f_back), _layer(frame)
        if event == "call" and caller is not None and callee is not None and callee < caller:
            upward.add((_place(frame.f_back), _place(frame)))

    sys.setprofile(watch)
    try:
        assert run("step", "small", "ok") == 0
    finally:
        sys.setprofile(None)

    assert upward == set()


def _layer(frame: FrameType) -> int | None:
    """Return the number of a function's layer in the import contract, counted from the top; `None` if it is not ours."""
    parts = Path(frame.f_code.co_filename).parts
    if not frame.f_code.co_filename.startswith(str(PACKAGE)):
        return None
    name = parts[len(PACKAGE.parts)].removesuffix(".py")
    return next((number for number, layer in enumerate(LAYERS) if name in layer.split(" | ")), None)


def _place(frame: FrameType | None) -> str:
    assert frame is not None
    return f"{Path(frame.f_code.co_filename).relative_to(PACKAGE)}:{frame.f_code.co_name}"
