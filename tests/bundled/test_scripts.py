"""Scripts that steps of bundled skills tell the agent to run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.bundled_evidence import CARD
from support.sandbox import put_skill

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


@pytest.mark.parametrize(
    "change", [("", ""), ("gate before publish", "publish before gate"), ("agree, fail", "nowhere, fail")]
)
def test_a_drafted_workflow_passes_only_if_check_and_test_are_clean(change: tuple[str, str]) -> None:
    before, after = change
    example = TRY.with_name("example.yaml").read_text().replace("name: example", "name: NAME")
    put_skill("drafted", example.replace(before, after) if before else example, texts={"SKILL.md": CARD})

    ran = subprocess.run([sys.executable, TRY, "--", "drafted"], capture_output=True, text=True, check=False)

    assert ran.returncode == (1 if before else 0), ran.stdout + ran.stderr
