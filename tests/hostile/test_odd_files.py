"""A link, pipe, device or huge file in place of a file blocks no command and reveals nothing outside the project."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.hostile_files import ODD
from support.judge import judged
from support.sandbox import put_skill, told

Words = Sequence[str]

SKILL = ".claude/skills/evil"
IN_SKILLS = (
    ".claude", SKILL, f"{SKILL}/SKILL.md", f"{SKILL}/workflow.yaml", f"{SKILL}/workflow.py", f"{SKILL}/steps/first.md",
    f"{SKILL}/workflows/inner.yaml", f"{SKILL}/.flowrail.json", ".git",
)  # fmt: skip
SESSION = ".flow/sessions/ID"
IN_STORE = (
    ".flow", ".flow/sessions", ".flow/handoffs", SESSION, f"{SESSION}/journal.jsonl", f"{SESSION}/session.json",
    f"{SESSION}/definition.json", f"{SESSION}/lock",
)  # fmt: skip
SHORT = ("a directory", "a pipe", "a link out of the folder", "a link to zeros", "a loop of links")
KINDS = [what if what in SHORT else pytest.param(what, marks=pytest.mark.long) for what in ODD]
LOOKING: Sequence[Words] = (
    ["list", "--json"],
    ["check", "evil"],
    ["discover", "--all", "--json"],
    ["step", "evil", "--json"],
)
CONTINUING: Sequence[Words] = (
    ["sessions", "--all", "--json"],
    ["history", "ID", "--json"],
    ["session", "verify", "--json"],
    ["audit"],
    ["step", "evil", "ok", "--session", "ID", "--json"],
    ["session", "adopt", "ID"],
    ["session", "prune", "--dry-run"],
    ["start", "evil", "--json"],
)
GIVEN: Sequence[Words] = (
    ["handoff", "validate", "FILE"],
    ["handoff", "validate", "FILE", "--json"],
    ["handoff", "convert", "FILE", "--to", "3.0"],
    ["handoff", "receive", "FILE", "--json"],
    ["step", "evil", "ok", "--facts", "FILE", "--json"],
    ["ask", "ID", "FILE", "--json"],
    ["finding", "add", "ID", "--severity", "MUST", "--file", "FILE"],
    ["check", "FILE"],
)


def stand(path: Path, what: str) -> None:
    """Replace *path* with the odd file *what*."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    ODD[what](path)


def tell_nothing_of_the_secret(ran: object) -> None:
    assert "SECRET" not in str(ran)


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("where", IN_SKILLS)
def test_odd_things_among_skills_are_told_or_passed_over(where: str, what: str) -> None:
    put_skill(
        "evil", texts={"steps/first.md": "Do.", "workflows/inner.yaml": "name: evil/inner\nsteps: []\n"}
    )
    if where.endswith(".py"):
        Path(f"{SKILL}/workflow.yaml").unlink()
    stand(Path(where), what)

    for words in LOOKING:
        tell_nothing_of_the_secret(judged(*words))


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("where", IN_STORE)
def test_odd_things_in_the_store_are_told_or_passed_over(where: str, what: str) -> None:
    put_skill("evil")
    session = told("step", "evil")["session"]
    stand(Path(where.replace("ID", session)), what)

    for words in CONTINUING:
        tell_nothing_of_the_secret(judged(*(each.replace("ID", session) for each in words)))


@pytest.mark.parametrize("what", KINDS)
def test_odd_things_given_as_files_are_refused(what: str) -> None:
    put_skill("evil")
    session = told("step", "evil")["session"]
    stand(Path("odd.yaml"), what)

    for words in GIVEN:
        filled = [each.replace("ID", session).replace("FILE", "odd.yaml") for each in words]
        judged(*filled)
