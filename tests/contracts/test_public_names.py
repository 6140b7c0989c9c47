"""What `from flowrail import …` gives: every name is there, documented, and imported only when asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from support.golden import as_in_golden_file
from support.sandbox import clean_environment

import flowrail


def test_the_names_are_those_that_were_promised() -> None:
    assert as_in_golden_file("public_names.txt", "\n".join(sorted(flowrail.__all__)))


@pytest.mark.parametrize("name", flowrail.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    value = getattr(flowrail, name)

    assert name in dir(flowrail)
    assert getattr(value, "__doc__", None)
    if isinstance(value, type):
        assert value.__module__.startswith("flowrail.")


def test_a_name_that_is_not_there_is_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="module 'flowrail' has no attribute 'nosuch'"):
        _ = flowrail.nosuch  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from flowrail import nosuch", {})  # noqa: S102 - as an author would


def test_all_of_them_can_be_taken_at_once() -> None:
    names: dict[str, object] = {}

    exec("from flowrail import *", names)  # noqa: S102 - as an author would

    assert set(flowrail.__all__) <= set(names)


def test_a_name_loads_its_own_room_only() -> None:
    code = "import sys; from flowrail import StepDef; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True, check=True
    )

    assert not {"statemachine", "pydantic", "yaml", "cattrs", "click"} & set(done.stdout.split())


@pytest.mark.parametrize("package", ["machines", "formatters", "testing", "discovery"])
def test_packages_export_their_own_names(package: str) -> None:
    module = importlib.import_module(f"flowrail.{package}")

    assert all(getattr(module, name) is not None for name in module.__all__)
    shared = set(module.__all__) & set(flowrail.__all__)
    assert all(getattr(module, name) is getattr(flowrail, name) for name in shared)
    with pytest.raises(AttributeError, match=rf"module 'flowrail\.{package}' has no attribute 'nosuch'"):
        _ = module.nosuch


def test_public_names_have_their_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from flowrail import Outcome, StepDef, Workflow\n"
        "from flowrail.machines import start\n"
        "WORKFLOW = Workflow(5, StepDef('a', next={Outcome.OK: None}))\n"
        "reveal_type(start(WORKFLOW))\n"
        "from flowrail import Workfow\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)], capture_output=True, text=True, check=False
    )

    assert '"Workflow" has incompatible type "int"; expected "str"' in done.stdout
    assert "flowrail.machines.sessions.session.Session" in done.stdout
    assert 'has no attribute "Workfow"' in done.stdout
