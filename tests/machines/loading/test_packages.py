"""Workflows in Python: run from the bytes that were approved, or found in a package without importing it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workflows import linear

from flowrail import UsageError
from flowrail.machines import discover_workflows, skill
from flowrail.machines.loading import packages
from flowrail.machines.loading.packages import register_workflow
from flowrail.machines.loading.python_file import NotLoadedError, run, scan
from flowrail.machines.workflow import Workflow
from flowrail.text import size_limits

HEAD = "from flowrail import Outcome, StepDef, Workflow\n"
ONE = "StepDef('a', title='A', actions=['Do.'], next={'ok': None})"


def running(text: str, address: str = "a-skill", path: str = "/nowhere/workflow.py") -> Workflow:
    return run(dedent(text).encode(), address, path)


# --- running a file


def test_a_file_is_run_and_its_functions_know_their_module() -> None:
    workflow = running(
        f"""\
{HEAD}
def handler(ctx):
    return Outcome.OK
WORKFLOW = Workflow("a-skill/inner", {ONE[:-1]}, handler=handler))
""",
        "a-skill/inner",
    )

    handler = workflow.steps[0].handler
    assert handler.__module__ == "flowrail_skill_a_skill__inner"
    assert sys.modules[handler.__module__].__file__ == "/nowhere/workflow.py"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nraise ValueError('no\\nluck')", "/nowhere/workflow.py:2: raised ValueError: no luck"),
        ("def f():\n    1 / 0\nf()", "/nowhere/workflow.py:2: raised ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)", "raised SystemExit: 0"),
        ("import no_such_module_at_all", "raised ModuleNotFoundError"),
        ("x = 1", "has no `WORKFLOW` that is a Workflow"),
        (f"{HEAD}WORKFLOW = Workflow('other', {ONE})", "defines `other` but its path says `a-skill`"),
    ],
)
def test_a_file_that_leaves_no_workflow_is_told_in_one_line(text: str, message: str) -> None:
    with pytest.raises(NotLoadedError) as caught:
        running(text)

    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert (caught.value.code, caught.value.exit_status) == ("NOT_LOADED", 1)


# --- a package


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of a package called `the_skills`, forgotten afterwards."""
    folder = tmp_path / "path" / "the_skills"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(packages, "_registered", {})
    yield folder
    for name in [module for module in sys.modules if module.partition(".")[0] == "the_skills"]:
        del sys.modules[name]


def put(package: Path, path: str, text: str) -> Path:
    file = package / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def imported(name: str) -> bool:
    return f"the_skills.{name}" in sys.modules


def test_workflows_are_listed_without_importing_and_imported_one_by_one(package: Path) -> None:
    put(package, "__init__.py", "")
    put(package, "one.py", f"{HEAD}WORKFLOW = Workflow('first', {ONE})")
    put(package, "deep/__init__.py", f"{HEAD}WORKFLOW: Workflow = Workflow('second', {ONE})")
    put(package, "a-skill/scripts/four.py", f"{HEAD}WORKFLOW = Workflow('fourth', {ONE})")
    put(package, "deep/er/three.py", f"{HEAD}NAME = 'third'\nWORKFLOW = Workflow(NAME, {ONE})")
    put(
        package, "broken.py", f"{HEAD}WORKFLOW = Workflow('broken', {ONE})\nraise RuntimeError('not\\ntoday')"
    )
    put(package, "none.py", "x = 1")
    put(package, "notes.txt", "WORKFLOW = 1")
    put(package, "mention.py", "# WORKFLOW is nowhere assigned\n")
    put(package, "not a module/x.py", f"{HEAD}WORKFLOW = Workflow('hidden', {ONE})")
    put(package, "__pycache__/x.py", f"{HEAD}WORKFLOW = Workflow('cached', {ONE})")

    workflows = discover_workflows("the_skills")

    assert sorted(workflows) == ["broken", "first", "fourth", "second", "third"]
    assert len(workflows) == 5
    assert workflows.skipped == {}
    assert not any(imported(module) for module in ("one", "deep", "broken"))
    assert (workflows["first"].name, workflows["fourth"].name) == ("first", "fourth")
    assert imported("one")
    assert not imported("deep")


def test_what_cannot_be_a_workflow_is_skipped_with_the_reason(package: Path) -> None:
    skipped = {
        put(package, "number.py", "WORKFLOW = 5"): "assigns something other than a Workflow to `WORKFLOW`",
        put(
            package, "replaced.py", f"{HEAD}WORKFLOW = Workflow('a', {ONE})\nWORKFLOW = 'b'"
        ): "something other than",
        put(package, "computed.py", f"{HEAD}WORKFLOW = Workflow('a' + 'b' * 2, {ONE})"): "computes the name",
        put(
            package, "made.py", "WORKFLOW = make()"
        ): "computes the name of its `WORKFLOW`; write it as a text",
        put(package, "syntax.py", "\nWORKFLOW = = 5"): "is not valid Python (line 2",
        put(package, "large.py", "#" * (size_limits.PYTHON_BYTES + 1)): "",
    }
    put(package, "fine.py", f"{HEAD}WORKFLOW = Workflow('fine', {ONE})")
    skipped[put(package, "zzz.py", f"{HEAD}WORKFLOW = Workflow('fine', {ONE})")] = (
        f"defines `fine`, which {package / 'fine.py'} defines already"
    )

    workflows = discover_workflows("the_skills")

    assert list(workflows) == ["fine"]
    assert workflows.skipped.keys() == set(map(str, skipped))
    for path, reason in skipped.items():
        assert reason in workflows.skipped[str(path)]


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: f"WORKFLOW = {text}".encode()))
def test_any_file_is_scanned_without_running_it(data: bytes) -> None:
    scanned = scan(data)

    assert scanned is None or scanned.name or scanned.problem


def test_registered_workflows_are_found_with_the_discovered_ones(package: Path) -> None:
    put(package, "one.py", f"{HEAD}WORKFLOW = Workflow('first', {ONE})")
    mine = linear("a", name="mine")

    assert register_workflow(mine) is register_workflow(mine)
    workflows = discover_workflows("the_skills")

    assert list(workflows) == ["first", "mine"]
    assert len(workflows) == 2
    assert workflows["mine"] is mine
    with pytest.raises(UsageError, match="another workflow `mine` is registered"):
        register_workflow(linear("b", name="mine"))
    with pytest.raises(KeyError):
        workflows["unknown"]


# --- old scripts


STEPS: dict[int, dict[str, Any]] = {
    1: {"title": "First", "actions": ["Do this."]},
    2: {"title": "Second", "actions": ["Do that."]},
}
"""The table of the old script below."""


def test_an_old_script_becomes_a_linear_workflow() -> None:
    with pytest.warns(DeprecationWarning, match="write a Workflow instead"):

        @skill(name="my-skill", total_steps=2)
        def main(step: int | None = None, total_steps: int | None = None) -> int:
            return 5

    workflow = main.workflow  # type: ignore[attr-defined]
    assert [(step.id, step.title, step.actions, dict(step.next)) for step in workflow.steps] == [
        ("step1", "First", ("Do this.",), {"ok": "step2"}),
        ("step2", "Second", ("Do that.",), {"ok": None}),
    ]
    assert main() == 5
