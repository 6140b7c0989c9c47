"""What a person is shown before a folder's code may run."""

from __future__ import annotations

import warnings

from support.handing import card
from support.sandbox import put_python, put_skill

from flowrail.machines.folder import LARGEST_PYTHON
from flowrail.skills.allowing import MOST_NAMES, about
from flowrail.trust import snapshot


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
        "imports eval, flowrail, importlib, json, os, urllib",
        "may be code that starts processes: os",
        "may be code that opens the network: urllib",
        "may be code that loads other code: importlib",
    ]


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


def test_code_too_large_to_look_into_and_names_without_end_are_told_so() -> None:
    imports = "".join(f"import m{number:03}{'x' * 90}\n" for number in range(MOST_NAMES + 9))
    folder = put_skill("py", texts={"large.py": "#" * (LARGEST_PYTHON + 1), "names.py": imports})

    lines = list(about(snapshot(str(folder))))

    assert "large.py is too large to look into" in lines
    (told,) = [line for line in lines if line.startswith("imports ")]
    assert told.endswith(" and 9 more")
    assert len(told) < MOST_NAMES * 70


def test_python_says_nothing_of_its_own_about_code_that_is_only_read() -> None:
    folder = put_python("py", before="x = '\\d'\ny = 1 is 1\n")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        list(about(snapshot(str(folder))))

    assert said == []
