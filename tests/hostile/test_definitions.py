"""Workflows up to the largest that a session keeps."""

from __future__ import annotations

from support.sandbox import home_skills, put_skill, refused, sessions_folder

from flowrail.text import limits

LARGE = """\
from flowrail import Outcome, StepDef, Workflow
WORKFLOW = Workflow(
    "large",
    *(StepDef(f"s{n}", "S", ["{} " * 20_000], next={Outcome.OK: f"s{n + 1}"}) for n in range(COUNT)),
    StepDef("sCOUNT", "Last", ["Tell it."], next={Outcome.OK: None}),
)
"""
EACH = 60_000


def large(size: int) -> None:
    """Write a workflow whose texts have about *size* bytes, many braces among them."""
    put_skill("large", LARGE.replace("COUNT", str(size // EACH)), where=home_skills(), file="workflow.py")


def test_a_workflow_that_is_too_large_to_keep_is_refused_before_anything_is_written() -> None:
    large(limits.DEFINITION_BYTES + EACH)

    status, error = refused("start", "large")

    assert status == 3
    assert f"at most {limits.DEFINITION_BYTES} are allowed" in error["message"]
    assert "split the workflow" in error["hint"]
    assert not sessions_folder().exists()
