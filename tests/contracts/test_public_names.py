"""What `from flowrail import …` gives: every name is there, documented, and imported only when asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

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
        _ = flowrail.nosuch
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


def test_the_room_of_machines_has_its_own_names_too() -> None:
    machines = importlib.import_module("flowrail.machines")
    same = {name for name in machines.__all__ if getattr(machines, name) is getattr(flowrail, name)}

    assert {"Workflow", "StepDef", "StepOutput", "advance", "compile_workflow", "start"} <= set(
        machines.__all__
    )
    assert same == set(machines.__all__)
    assert set(machines.__all__) <= set(dir(machines))
    assert not {"discover", "format_step_header", "FlowError"} & set(machines.__all__)
    with pytest.raises(AttributeError, match=r"module 'flowrail\.machines' has no attribute 'FlowError'"):
        _ = machines.FlowError


@pytest.mark.parametrize(
    "first", ["", "import flowrail.machines.engine.advance\n", "from flowrail import advance\n"]
)
def test_advance_is_called_by_its_name_in_the_room_whatever_was_imported_before(first: str) -> None:
    code = f"""{first}
from flowrail import Report, StepDef, Workflow, advance, start
a = StepDef(id="a", title="A", actions=["a"], next={{"ok": "b"}})
b = StepDef(id="b", title="B", actions=["b"], next={{"ok": None}})
two = Workflow("two", a, b)
print(advance(two, start(two), Report("ok"), now="then").step)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout == "b\n"
