"""The public names have their real types, for mypy and for pyright."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import flowrail
import flowrail.machines

RIGHT = """
from collections.abc import Mapping

import flowrail
from flowrail import (
    AgentRole, Arg, ConflictError, Dispatch, FlowError, Outcome, Report, Rule, Session, SessionView, StepContext,
    StepDef, Workflow, advance, load_workflow, open_store, start, to_mermaid, to_svg,
)
from flowrail.formatters import format_forbidden
from flowrail.discovery import Candidate
from flowrail.formatters import format_step_output


def decide(ctx: StepContext) -> tuple[Outcome, Mapping[str, object]]:
    return Outcome.OK, {"seen": ctx.visit}


WORKFLOW = Workflow(
    "review",
    StepDef("read", "Read", ["Read it."], decide, next={Outcome.OK: "tell"}),
    StepDef("look", "Look", ["Look."], Dispatch(AgentRole.EXPLORE, "review/look"), next={Outcome.OK: "tell"}),
    StepDef("tell", "Tell", ["Tell."], reports={"found": Arg(required=True)}, rules=[Rule("ok")], next={"ok": None}),
    StepDef("sum", "Sum up", ["Sum."], reports={"sure": Arg(choices=["low", "high"])}, rules=[Rule("ok")], next={"ok": None}),
    params={"topic": Arg("What to read", required=True)},
)
session: Session = advance(WORKFLOW, start(WORKFLOW, {"topic": "x"}), Report("done"))
store = open_store(".flow", workflows=[WORKFLOW])
try:
    view: SessionView = store.start(load_workflow("review"), {"topic": "x"})
    view = store.report(view, Outcome.OK, {"found": "y"})
    text: str = view.instructions
    first: str = view.next[0].outcome
    step: str | None = view.step.id if view.step else None
    kinds: list[str] = [record.kind for record in store.history(view)]
    drawn: tuple[str, str] = (to_mermaid(WORKFLOW), to_svg(view))
except ConflictError as error:
    code: str = error.code
except FlowError:
    raise
markup: str = format_step_output("x.py", 1, 2, "Title", ["Do it."])
forbidden: str = format_forbidden(["y"])
skills: list[str] = [candidate.skill for candidate in list[Candidate]()]
ended: str = session.status
"""
HEAD = "from flowrail import *\nw: Workflow = load_workflow('x')\ns: Session = start(w)\nstore: SessionStore = open_store()\n"
WRONG = {
    "an unknown name": "from flowrail import Nonsense",
    "a name that is not a text": f"{HEAD}Workflow(1, StepDef('a'))",
    "a step that is not a step": f"{HEAD}Workflow('x', 2)",
    "a report that is not a report": f"{HEAD}advance(w, s, 3)",
    "an unknown role": f"{HEAD}AgentRole.DEVELOPR",
    "an unknown outcome": f"{HEAD}Outcome.OKAY",
    "a misspelt argument of a step": f"{HEAD}StepDef('a', limt=3)",
    "a misspelt argument of a parameter": f"{HEAD}Arg(requird=True)",
    "a handler that is not a function": f"{HEAD}StepDef('a', handler='x')",
    "a session by its id": f"{HEAD}store.report('x-abc123', 'ok')",
    "an unknown attribute of a session": f"{HEAD}store.resume('x-abc123').instruction",
    "a picture of a number": f"{HEAD}to_svg(3)",
    "an unknown prompt formatter": "from flowrail.formatters import format_nothing",
    "a wrong argument of a prompt formatter": "from flowrail.formatters import format_gate_result\nformat_gate_result(1)",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "right.py").write_text(RIGHT)
    (folder / "starred.py").write_text(HEAD)
    for description, program in WRONG.items():
        (folder / f"{_module(description)}.py").write_text(f"{program}\n")
    return folder


def test_mypy_accepts_a_right_program_and_refuses_wrong_ones(programs: Path) -> None:
    names = sorted(path.name for path in programs.glob("*.py"))
    printed = _printed([sys.executable, "-m", "mypy", "--strict", "--config-file=", *names], programs)

    errors = set(re.findall(r"^(\w+)\.py:\d+: error: .*$", printed, re.MULTILINE))

    assert errors == {_module(description) for description in WRONG}, printed


def test_pyright_accepts_a_right_program_and_refuses_wrong_ones(programs: Path) -> None:
    pyright = shutil.which("basedpyright") or shutil.which("pyright")
    if pyright is None:
        pytest.skip("neither basedpyright nor pyright is installed")
    (programs / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    options = ["--outputjson", "--pythonpath", sys.executable, "--project", str(programs)]
    printed = _printed([pyright, *options], programs)

    diagnostics = json.loads(printed)["generalDiagnostics"]
    errors = {Path(found["file"]).stem for found in diagnostics if found["severity"] == "error"}

    assert errors == {_module(description) for description in WRONG}, printed


def _printed(command: Sequence[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def _module(description: str) -> str:
    return description.replace(" ", "_")


def test_every_name_that_type_checkers_see_exists() -> None:
    tree = ast.parse(Path(str(flowrail.__file__)).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))

    seen = {
        alias.asname or alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert seen == set(flowrail.__all__) == {name for name in dir(flowrail) if getattr(flowrail, name)}
