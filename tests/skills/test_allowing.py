"""What a person is shown before a folder's code may run."""

from __future__ import annotations

import warnings

import pytest
from support.handing import card
from support.sandbox import put_python, put_skill

from flowrail.approval import snapshot
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan.scan import scan
from flowrail.machines.loading.skill_folder import LARGEST_PYTHON
from flowrail.operations.skills.trust import MOST_NAMES, about


def test_files_imports_and_reach_are_told() -> None:
    folder = put_python(
        "py",
        before="import os.path, json\nfrom urllib import request\nimport importlib as i\n"
        "from . import mine\neval('1')\n",
    )
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    now = snapshot(str(folder))

    lines = list(about(now))

    size, card = (folder / "workflow.py").stat().st_size, (folder / "SKILL.md").stat().st_size
    assert lines == [
        f"folder {folder}",
        f"digest {now.digest}",
        f"  SKILL.md ({card} bytes)",
        "  run.sh (10 bytes, executable)",
        f"  workflow.py ({size} bytes)",
        "runs workflow.py whenever a step of it is shown or reported",
        "imports flowrail, importlib, json, os, urllib",
        "may be code that starts processes: os",
        "may be code that opens the network: urllib",
        "may be code that loads other code: eval, importlib",
    ]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import asyncio", ["starts processes: asyncio", "opens the network: asyncio"]),
        ("from posix import system", ["starts processes: posix"]),
        ("import webbrowser", ["starts processes: webbrowser", "opens the network: webbrowser"]),
        ("import builtins", ["loads other code: builtins"]),
        ("run = eval", ["loads other code: eval"]),
        ("__builtins__['ex' + 'ec']('1')", ["loads other code: __builtins__"]),
        ("().__class__.__base__.__subclasses__()", ["loads other code: __subclasses__"]),
        ("__import__('sub' + 'process')", ["loads other code: __import__"]),
        ("import sys\nsys.modules['os'].system('id')", ["loads other code: sys"]),
        ("import random\nrandom._os.system('id')", ["starts processes: os"]),
        ("from pathlib import os as paths", ["starts processes: os"]),
        ("match print:\n    case object(__self__=found):\n        pass", ["loads other code: __self__"]),
        ("globals()['__built' + 'ins__']", ["loads other code: globals"]),
        ("import json\ngetattr(json, 'co' + 'decs')", ["loads other code: getattr"]),
        ("from .posix import mine", []),
        ("from . import os", []),
        ("import json, re, dataclasses\nre.compile('a').match('a').end()", []),
    ],
)
def test_what_reaches_out_of_the_process_is_told_however_it_is_written(code: str, told: list[str]) -> None:
    lines = list(about(snapshot(str(put_python("py", before=f"{code}\n")))))

    assert [line for line in lines if "may be" in line] == [f"may be code that {each}" for each in told]


def test_python_that_cannot_be_read_is_told() -> None:
    folder = put_skill("py", texts={"broken.py": "def (", "nul.py": "\0", "deep.py": "(" * 5_000})

    lines = list(about(snapshot(str(folder))))

    assert [line for line in lines if "no Python" in line] == [
        f"{name} is no Python that can be read" for name in ("broken.py", "deep.py", "nul.py")
    ]


def test_a_skill_without_code_has_nothing_to_tell_of_it() -> None:
    lines = list(about(snapshot(str(put_skill("small")))))

    assert [line.split()[0] for line in lines] == ["folder", "digest", "SKILL.md", "workflow.yaml"]


def test_a_health_check_is_told_as_the_program_that_it_is() -> None:
    folder = put_skill("small", texts={"SKILL.md": card("small", health_check="./check.sh --all; rm -rf /")})

    assert "runs, when a health check is asked for: ./check.sh --all; rm -rf /" in about(
        snapshot(str(folder))
    )


def test_a_health_check_is_told_also_where_the_card_is_in_small_letters() -> None:
    folder = put_skill("small", texts={"skill.md": card("small", health_check="./check.sh")})
    (folder / "SKILL.md").unlink()

    (found,) = scan([Root(str(folder.parent), Scope.PROJECT, "cwd")]).found

    assert found.file.reading.declared.health_check == "./check.sh"
    assert "runs, when a health check is asked for: ./check.sh" in about(snapshot(str(folder)))


def test_what_is_compiled_or_packed_is_told() -> None:
    folder = put_python("py")
    (folder / "__pycache__").mkdir()
    for name in ("__pycache__/a.cpython-311.pyc", "b.SO", "c.zip", "d.pyx"):
        (folder / name).touch()

    (told,) = [line for line in about(snapshot(str(folder))) if "looked into" in line]

    assert told == "is compiled or packed and was not looked into: __pycache__/a.cpython-311.pyc, b.SO, c.zip"


def test_code_too_large_to_look_into_and_names_without_end_are_told_so() -> None:
    imports = "".join(f"import m{number:03}{'x' * 90}\n" for number in range(MOST_NAMES + 9))
    texts = {"dense.py": "a;" * 40_000, "large.py": "#" * (LARGEST_PYTHON + 1), "names.py": imports}
    folder = put_skill("py", texts=texts)

    lines = list(about(snapshot(str(folder))))

    assert {"dense.py is too large to look into", "large.py is too large to look into"} < set(lines)
    (told,) = [line for line in lines if line.startswith("imports ")]
    assert told.endswith(" and 9 more")
    assert len(told) < MOST_NAMES * 70


def test_python_says_nothing_of_its_own_about_code_that_is_only_read() -> None:
    folder = put_python("py", before="x = '\\d'\ny = 1 is 1\n")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        list(about(snapshot(str(folder))))

    assert said == []
