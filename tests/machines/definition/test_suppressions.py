"""Suppressed warnings: only with a reason, only if the warning exists, never an error."""

from __future__ import annotations

import pytest

from flowrail.machines.definition.findings import (
    Finding,
    Place,
    without_suppressed,
)
from flowrail.machines.definition.workflow import Suppression

LOOP = Finding("FR163", "warning", "a loop", "bound it", Place("workflow.yaml", 3), "look")
OTHER = LOOP._replace(step="tell")
WRONG = Finding("FR102", "error", "no step", "name one", Place("workflow.yaml", 4), "look")


def passed(code: str = "FR163", reason: str = "it is short", step: str | None = None) -> Suppression:
    return Suppression(code, reason, step, "workflow.yaml:9")


def test_a_suppressed_warning_is_not_reported() -> None:
    assert without_suppressed([LOOP, OTHER, WRONG], [passed()]) == [WRONG]
    assert without_suppressed([LOOP, OTHER], [passed(step="look")]) == [OTHER]
    assert without_suppressed([LOOP], []) == [LOOP]


@pytest.mark.parametrize(
    ("suppression", "message"),
    [
        (passed("FR164"), "found no FR164 to suppress"),
        (passed(step="other"), "found no FR163 of step `other` to suppress"),
        (passed("FR999"), "unknown code `FR999`"),
        (passed(reason=" "), "without a reason"),
        (passed("FR102"), "FR102 is an error and cannot be suppressed"),
    ],
)
def test_a_suppression_without_effect_is_a_finding(suppression: Suppression, message: str) -> None:
    *remaining, finding = without_suppressed([LOOP, WRONG], [suppression])

    assert remaining == [LOOP, WRONG]
    assert (finding.code, finding.severity, str(finding.place)) == ("FR172", "warning", "workflow.yaml:9")
    assert message in finding.message
