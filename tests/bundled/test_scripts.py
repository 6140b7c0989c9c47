"""Scripts that steps of bundled skills tell the agent to run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.bundled_evidence import CARD
from support.sandbox import Ran, flow, put_skill

from flowrail.discovery.locations import bundled_folder

TRY = Path(bundled_folder()) / "write-workflow" / "scripts" / "try_workflow.py"
SAMPLE = Path(bundled_folder()) / "refactor" / "scripts" / "sample.py"


def sample(*words: str) -> list[str]:
    ran = subprocess.run([sys.executable, SAMPLE, *words], capture_output=True, text=True, check=True)
    return [line.partition("`: ")[0].removeprefix("- `") for line in ran.stdout.splitlines()]


def test_a_sample_of_smells_is_the_same_for_the_same_session() -> None:
    first = sample("draw", "6", "--mode", "code", "--seed", "refactor-k3x9q2")

    assert len(set(first)) == 6
    assert sample("draw", "6", "--mode", "code", "--seed", "refactor-k3x9q2") == first
    assert sample("draw", "6", "--mode", "code", "--seed", "refactor-m4t8wz") != first


def test_a_sample_has_what_the_user_named_and_nothing_that_cannot_occur() -> None:
    drawn = sample("draw", "100", "--mode", "design", "--with", "call-order", "--without", "near-copies")

    assert drawn[0] == "call-order"
    assert "near-copies" not in drawn
    assert "deep-nesting" not in drawn, "a smell inside functions, which mode design does not have"


NOTES = """
## Irreversible

1. `Bash(tools/publish*)`: after the gate

## Mapping

| P1 | step `test`, its command |
| P2 | not checkable: nobody sees it |
"""


@pytest.fixture
def notes() -> Path:
    """Write the drafted skill, and notes of a session of write-workflow that fit it."""
    example = TRY.with_name("example.yaml").read_text().replace("name: example", "name: NAME")
    put_skill("drafted", example, texts={"SKILL.md": CARD})
    notes = Path(
        ".flow", "sessions", session_of(flow("step", "write-workflow")), "work", "notes.md"
    ).absolute()
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text(NOTES)
    return notes


def session_of(ran: Ran) -> str:
    return ran.out.partition('session="')[2].partition('"')[0]


def tried(mode: str, notes: Path, *more: str) -> str:
    """Return the last line that the script prints, if it passes, or an empty text."""
    words = [sys.executable, str(TRY), mode, "--", "drafted", str(notes), *more]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "Traceback" not in ran.stderr
    return ran.stdout.splitlines()[-1] if ran.returncode == 0 else ""


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("workflow", "", ""),
        ("workflow", "gate before publish", "publish before gate"),
        ("workflow", "agree, fail", "nowhere, fail"),
        ("notes", "tools/publish", "git push"),
        ("notes", "`Bash(tools/publish*)`", "the publication"),
        ("notes", "step `test`, its command", "somebody sees it"),
    ],
    ids=["clean", "broken rule", "no such step", "unguarded", "no pattern", "no step for a demand"],
)
def test_a_drafted_workflow_is_clean_only_if_it_has_what_the_notes_demand(
    notes: Path, file: str, before: str, after: str
) -> None:
    changed = notes if file == "notes" else Path(".claude/skills/drafted/workflow.yaml")
    text = changed.read_text()
    assert before in text
    changed.write_text(text.replace(before, after) if before else text)

    last = tried("check", notes, "1")

    assert last == ("" if before else "drafted is clean")


def test_fakes_count_only_if_a_step_refused_them(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried("fakes", notes) == "", "no copy of the project"
    scratch = copied(notes)
    assert tried("fakes", notes) == "", "no session in the copy"
    with monkeypatch.context() as copy:
        copy.chdir(scratch)
        assert "accept `ok` for step `notes`" in flow("step", "drafted", "ok", "--session", started()).err
    assert tried("fakes", notes) == "", "only one step refused a fake"
    reason = "Not reached: announce, test, review, publish, because nobody approved the command"
    notes.write_text(f"{notes.read_text()}\n## Fakes\n\n{reason}\n")

    assert tried("fakes", notes) == "drafted is attacked"


def test_a_trial_counts_only_if_it_began_in_its_step_and_ended(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = copied(notes)
    monkeypatch.chdir(scratch)
    assert tried("trial", notes) == "", "no session in the copy"
    flow("session", "abandon", started(), "--reason", "no time")
    assert tried("trial", notes) == "", "nobody reported a step"
    session = started()
    assert tried("trial", notes) == "", "it has not ended"
    Path("NOTES.md").write_text('## Changes\n\nC1: .claude/skills/drafted/SKILL.md:2 "name: drafted"\n')
    flow("step", "drafted", "ok", "--session", session)
    flow("session", "abandon", session, "--reason", "waits for a person")

    assert tried("trial", notes) == "drafted is tried"

    started()
    assert tried("trial", notes) == "", "the newest run counts"


def copied(notes: Path) -> Path:
    """Copy the project beside the notes."""
    scratch = notes.parent / "scratch"
    shutil.copytree(".claude", scratch / ".claude")
    (scratch / ".flow").mkdir()
    return scratch


def started() -> str:
    return session_of(flow("step", "drafted", "--new", "-p", "version=1.4"))
