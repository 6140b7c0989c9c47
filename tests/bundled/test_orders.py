"""The guards and order rules of bundled skills and of the examples: each is proved over every path."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.sandbox import flow, project_skills, put_skill

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "flowrail" / "bundled"
EXAMPLE = ROOT / "examples" / "demo" / "release"


def is_proved(address: str) -> bool:
    """Return whether a workflow has order rules, a proof of each, and no findings."""
    checked = json.loads(flow("check", address, "--json").out)["workflows"]
    [found] = [each for each in checked if each["workflow"] == address]
    return found["findings"] == [] and {rule["verdict"] for rule in found["order"]} == {"proved"}


@pytest.mark.parametrize(
    ("address", "file"),
    [("refactor", "refactor/workflow.yaml"), ("planner/executor", "planner/workflows/executor.yaml")],
)
def test_bundled_skills_have_guards_and_proved_order_rules(address: str, file: str) -> None:
    assert "\nguards: {" in (BUNDLED / file).read_text()
    assert is_proved(address)


def test_the_example_of_the_demo_has_guards_and_proved_order_rules() -> None:
    shutil.copytree(EXAMPLE, project_skills() / "release")

    assert "\nguards: {" in (EXAMPLE / "workflow.yaml").read_text()
    assert is_proved("release")


def test_the_example_of_the_readme_has_guards_and_proved_order_rules() -> None:
    _, _, after = (
        (ROOT / "README.md").read_text().partition("`.claude/skills/release/workflow.yaml`:\n\n```yaml\n")
    )
    written = after.partition("```")[0]
    put_skill("release", written)

    assert "\nguards: {" in written
    assert is_proved("release")
