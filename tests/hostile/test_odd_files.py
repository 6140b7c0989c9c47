"""A link, pipe, device or huge file in place of a file blocks no command and reveals nothing outside the project."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.answers import checked
from support.sandbox import put_skill, refused, told

SKILL, SESSION = ".claude/skills/evil", ".flow/sessions/ID"
IN_SKILLS = (
    ".claude", SKILL, f"{SKILL}/SKILL.md", f"{SKILL}/workflow.yaml", f"{SKILL}/workflow.py", f"{SKILL}/steps/first.md",
    f"{SKILL}/workflows/inner.yaml", f"{SKILL}/.flowrail.json", ".git",
)  # fmt: skip
IN_STORE = (
    ".flow", ".flow/sessions", ".flow/handoffs", SESSION, f"{SESSION}/journal.jsonl", f"{SESSION}/lock",
)  # fmt: skip
LOOKING = ("list --json", "check evil", "discover --all --json", "step evil --json")
CONTINUING = (
    "sessions --all --json", "sessions ID --json", "audit --verify --json", "audit", "step evil ok --session ID --json",
    "trust --session ID", "session prune --dry-run", "step evil --new --json",
)  # fmt: skip
READING_A_FILE = (
    "handoff check odd.yaml", "handoff check odd.yaml --to 3.0", "handoff receive odd.yaml --json",
    "step evil ok --facts odd.yaml --json", "ask ID odd.yaml --json", "finding add ID --severity MUST --file odd.yaml",
    "check odd.yaml",
)  # fmt: skip


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 * 1024**3)


def _loop(path: Path) -> None:
    other = path.with_name(f"{path.name}.other")
    path.symlink_to(other.name)
    other.symlink_to(path.name)


def _link_to_a_secret(path: Path) -> None:
    secret = Path(os.environ["HOME"]) / "secret.txt"
    secret.write_text("name: SECRET\nhandoff: SECRET\n")
    path.symlink_to(secret)


def _unreadable(path: Path) -> None:
    path.write_text("name: x\n")
    path.chmod(0)


ODD: Mapping[str, Callable[[Path], None]] = {
    "directory": Path.mkdir,
    "pipe": os.mkfifo,
    "link out of the project": _link_to_a_secret,
    "link to zeros": lambda path: path.symlink_to("/dev/zero"),
    "loop of links": _loop,
    "three gigabytes": _sparse,
    "link to standard input": lambda path: path.symlink_to("/dev/stdin"),
    "link to nowhere": lambda path: path.symlink_to("nowhere"),
    "link to the root": lambda path: path.symlink_to("/"),
    "link to memory": lambda path: path.symlink_to("/proc/self/mem"),
    "empty file": Path.touch,
    "unreadable file": _unreadable,
}
EACH_KIND = pytest.mark.parametrize(
    "kind",
    [kind if number < 5 else pytest.param(kind, marks=pytest.mark.long) for number, kind in enumerate(ODD)],
)


def replace(path: Path, kind: str) -> None:
    """Replace *path* with an odd file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    ODD[kind](path)


@EACH_KIND
@pytest.mark.parametrize("where", IN_SKILLS)
def test_odd_files_among_skills_are_reported_or_ignored(where: str, kind: str) -> None:
    put_skill(
        "evil", texts={"steps/first.md": "Do.", "workflows/inner.yaml": "name: evil/inner\nsteps: []\n"}
    )
    if where.endswith(".py"):
        Path(f"{SKILL}/workflow.yaml").unlink()
    replace(Path(where), kind)

    for line in LOOKING:
        assert "SECRET" not in str(checked(*line.split()))


@EACH_KIND
@pytest.mark.parametrize("where", IN_STORE)
def test_odd_files_in_the_store_are_reported_or_ignored(where: str, kind: str) -> None:
    put_skill("evil")
    session = told("step", "evil")["session"]
    replace(Path(where.replace("ID", session)), kind)

    for line in CONTINUING:
        assert "SECRET" not in str(checked(*line.replace("ID", session).split()))


@EACH_KIND
def test_odd_input_files_are_answered_or_refused(kind: str) -> None:
    put_skill("evil")
    session = told("step", "evil")["session"]
    replace(Path("odd.yaml"), kind)

    for line in READING_A_FILE:
        checked(*line.replace("ID", session).split())


@pytest.mark.parametrize(
    ("folder", "line"), [("sessions", "sessions"), ("sessions", "step evil"), ("handoffs", "audit")]
)
def test_a_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one(
    folder: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_skill("evil")
    told("step", "evil", "--new")
    closed = Path(".flow", folder).absolute()
    closed.mkdir(mode=0o700, exist_ok=True)
    listdir = os.listdir

    def refuse(path: Any = ".") -> list[Any]:
        if path == str(closed):
            raise PermissionError(13, "Permission denied", path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refuse)
    status, error = refused(*line.split())

    assert (status, error["code"]) == (3, "STORAGE")
    assert f"{closed} cannot be listed" in error["message"]
