"""What a skill's Python imports from beside it is what was hashed, whatever lies on the disk by then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sandbox import allow, home_skills, process, put_skill, refused, told

from flowrail.machines.loading import neighbours
from flowrail.testing.run import Run, load

WORKFLOW = """\
import os, sys
here = os.path.dirname(__file__)
for name in ("helper", "pack/__init__", "pack/inner", "space/deep", "late"):
    with open(os.path.join(here, name + ".py"), "a") as file:
        file.write("\\nSAID = 'swapped'\\n")
with open(os.path.join(here, "new.py"), "w") as file:
    file.write("SAID = 'new'\\n")
sys.path.insert(0, PLACE)
import helper, pack.inner, space.deep
from pack import outer
from flowrail import Outcome, StepDef, Workflow


def decide(ctx):
    import late
    try:
        import new
    except ImportError:
        return Outcome.OK, {"said": [late.SAID, late.__file__, late.helper.SAID]}
    return Outcome.FAIL


WORKFLOW = Workflow(
    "py",
    StepDef("a", "A", [" ".join([helper.SAID, pack.SAID, pack.inner.SAID, space.deep.SAID, outer.SAID])], decide,
            next={Outcome.OK: "b", Outcome.FAIL: None}),
    StepDef("b", "B", ["$said"], next={Outcome.OK: None}),
)
"""
FILES = {
    "helper.py": "SAID = 'helper'\n",
    "pack/__init__.py": "SAID = 'pack'\n",
    "pack/inner.py": "from . import SAID as above\nSAID = above + '.inner'\n",
    "pack/outer.py": "import helper\nSAID = 'outer+' + helper.SAID\n",
    "space/deep.py": "SAID = 'deep'\n",
    "late.py": "import helper\nSAID = 'late'\n",
}


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Give back what a skill does to this process."""
    path, modules, hooks = [*sys.path], {*sys.modules}, [*sys.path_hooks]
    yield
    sys.path[:], sys.path_hooks[:] = path, hooks
    neighbours._allowed.clear()
    sys.path_importer_cache.clear()
    for name in {*sys.modules} - modules:
        del sys.modules[name]


@pytest.mark.parametrize(
    "place", ["here", "os.path.realpath(here)", "os.path.relpath(here)", "here + '/../py'"]
)
def test_what_was_allowed_is_imported_though_the_disk_holds_something_else(place: str) -> None:
    put_skill("py", WORKFLOW.replace("PLACE", place), file="workflow.py", texts=FILES)
    allow("py")

    begun = told("start", "py")

    assert begun["actions"] == ["helper pack pack.inner deep outer+helper"]
    assert refused("step", "py", "done")[0] == 7, "the skill has changed itself"


def test_what_is_imported_late_was_allowed_as_well() -> None:
    folder = put_skill("py", WORKFLOW.replace("PLACE", "here"), file="workflow.py", texts=FILES)
    allow("py")

    run = Run(load("py")).report()

    assert run.told.startswith("late, ")
    assert run.told.endswith("/py/late.py, helper")
    assert "swapped" in (folder / "late.py").read_text()


def test_python_of_ones_own_is_imported_off_the_disk() -> None:
    folder = put_skill(
        "py", WORKFLOW.replace("PLACE", "here"), file="workflow.py", texts=FILES, where=home_skills()
    )

    ran = process("start", "py", "--format", "text")

    assert "swapped swapped swapped swapped outer+swapped" in ran.out
    assert (folder / "new.py").exists()
    assert not list(Path.cwd().rglob("__pycache__"))


def test_a_file_that_only_has_such_a_name_is_none() -> None:
    neighbours.keep("/nowhere/py", {"a.py": b"x = 1\n", "ab.txt": b"", "b.so": b""})

    with pytest.raises(ImportError):
        neighbours._finder_of("/nowhere/python")
    finder = neighbours._finder_of("/nowhere/py")

    assert finder.find_spec("ab") is None
    assert finder.find_spec("b") is None
    found = finder.find_spec("a")
    assert found is not None
    assert (found.origin, found.has_location) == ("/nowhere/py/a.py", True)
