"""What a person is shown before a folder's code may run."""

from __future__ import annotations

from support.sandbox import put_python, put_skill

from flowrail.skills.allowing import about
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
