"""The targets that a person can name for a check, and the resulting reports."""

from __future__ import annotations

import os
from collections.abc import Sequence

from support.sandbox import BUNDLED, SMALL, put_skill

from flowrail.operations.environment import Environment
from flowrail.operations.skills.skill_check import CheckedWorkflow
from flowrail.operations.skills.skill_check import check as check_here


def check(*targets: str) -> list[CheckedWorkflow]:
    return check_here(targets, Environment().loader, os.getcwd())


def addresses(reports: Sequence[CheckedWorkflow]) -> list[str]:
    return [report.workflow for report in reports]


def codes(reports: Sequence[CheckedWorkflow]) -> list[str]:
    return [finding.code for report in reports for finding in report.findings]


INNER = {"workflows/look.yaml": SMALL.replace("NAME", "NAME/look")}


def test_everything_in_sight_is_checked_where_nothing_is_named() -> None:
    put_skill("small", texts=INNER)

    reports = check()

    assert {address.partition("/")[0] for address in addresses(reports)} == {*BUNDLED, "small"}
    assert "small/look" in addresses(reports)
    assert codes(reports) == []


def test_a_skill_is_named_by_name_by_folder_or_by_file() -> None:
    folder = put_skill("small", texts=INNER)

    assert addresses(check("small")) == ["small", "small/look"]
    assert addresses(check("small/look")) == ["small/look"]
    assert addresses(check(str(folder))) == ["small", "small/look"]
    assert addresses(check(f"{folder}/")) == ["small", "small/look"]
    assert addresses(check(".claude/skills/small")) == ["small", "small/look"]
    assert addresses(check(str(folder / "workflow.yaml"))) == ["small"]
    assert addresses(check(str(folder / "workflows" / "look.yaml"))) == ["small/look"]
    assert addresses(check("small", "decision-critic")) == ["small", "small/look", "decision-critic"]


def test_an_unreadable_file_is_a_finding_and_not_the_end() -> None:
    folder = put_skill("small")
    (folder / "workflow.yaml").unlink()
    (folder / "workflow.yaml").symlink_to("elsewhere")
    put_skill("other")

    reports = check(".claude/skills")

    assert addresses(reports) == ["other", "small"]
    assert codes(reports) == ["FR100"]
