"""What a workflow refers to beside itself is there, takes what it is given, and its fences become blocks."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from support.sandbox import home_skills, put_skill

from flowrail.machines.findings import Finding
from flowrail.operations.environment import Environment
from flowrail.operations.skills.skill_check import check as check_here

LEAD = """\
name: NAME
params:
  areas: {type: list, default: [a]}
  topic: {type: string, default: x}
  size: {type: integer, default: 1}
steps:
  - id: look
    title: Look
    actions: [Look.]
    dispatch: {agent: explore, workflow: NAME/look, over: areas, vars: {area: $item}}
    next: {ok: null}
"""
INNER = """\
name: NAME/look
params:
  area: {type: string, required: true}
  deep: {type: boolean, default: false}
  parts: {type: list, default: []}
  mass: {type: number, default: 1}
  mode: {type: string, choices: [quick, full], default: full}
steps:
  - {id: only, title: Only, actions: [Do.], next: {ok: null}}
"""


def findings(
    lead: str = LEAD, inner: str = INNER, *, texts: Mapping[str, str] | None = None
) -> list[Finding]:
    put_skill("lead", lead, texts={"workflows/look.yaml": inner, **(texts or {})})
    reports = check_here(["lead"], Environment().loader, os.getcwd())
    return [finding for report in reports for finding in report.findings if finding.severity == "error"]


def told(lead: str, inner: str = INNER) -> list[tuple[str, str]]:
    return [(finding.code, finding.message) for finding in findings(lead, inner)]


@pytest.mark.parametrize(
    ("run", "remedy"),
    [
        ("lead/lok", "did you mean `lead/look`, `lead`?"),
        ("nosuch", "this skill has `lead`, `lead/look`; `flow list` shows other skills"),
    ],
)
def test_a_workflow_that_is_not_there_is_found(run: str, remedy: str) -> None:
    (finding,) = findings(LEAD.replace("workflow: NAME/look", f"workflow: {run}"))

    assert (finding.code, finding.remedy, finding.step) == ("FR143", remedy, "look")
    assert str(finding.place) == "workflow.yaml:10"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("{}", "`lead/look` requires `area`, which step `look` does not set"),
        ("{area: $item, dep: true}", "step `look` runs `lead/look` in agents, which takes no `dep`"),
        ("{area: 5}", "in agents, which takes another `area`: it takes text, not 5"),
        ("{area: $item, mode: fast}", "takes another `mode`: it takes one of `quick`, `full`, not `fast`"),
    ],
)
def test_parameters_that_do_not_fit_are_found(given: str, problem: str) -> None:
    ((code, message),) = told(LEAD.replace("{area: $item}", given))

    assert code == "FR155"
    assert problem in message


# --- what comes then


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("lead/nosuch", "`lead` continues with `lead/nosuch`, which does not exist"),
        ("lead/look", "`lead` continues with `lead/look`, which requires `area`"),
    ],
)
def test_what_comes_then_has_to_be_there_and_to_start(then: str, message: str) -> None:
    assert told(LEAD.replace("steps:", f"then: {then}\nsteps:")) == [("FR151", message)]


# --- fences

WRONG = "Look.\n\n```flow:forbiden\n- Guessing\n```\n"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (WRONG, "unknown block `forbiden`", 3),
        (f"\n\n{WRONG}", "unknown block `forbiden`", 5),
        ("```flow:forbidden\n```\n", "the fence is empty", 1),
        ("```flow:forbidden\n- Guessing\n", "the fence is not closed", 1),
    ],
)
def test_a_fence_that_stays_text_is_found_with_its_line(text: str, message: str, line: int) -> None:
    (finding,) = findings(LEAD.replace("    actions: [Look.]\n", ""), texts={"steps/look.md": text})

    assert finding.code == "FR152"
    assert message in finding.message
    assert str(finding.place) == f"steps/look.md:{line}"


@pytest.mark.parametrize(
    ("total", "problems"), [(1, []), (2, ["step `look` says that `lead/look` has 2 steps, not 1"])]
)
def test_the_number_of_steps_that_a_dispatch_names_is_checked(total: int, problems: list[str]) -> None:
    lead = f"""\
from flowrail import Dispatch, Outcome, StepDef, Workflow
WORKFLOW = Workflow(
    "lead",
    StepDef("look", "Look", ["Look."], next={{Outcome.OK: None, Outcome.FAIL: None}},
            handler=Dispatch("explore", "lead/look", vars={{"area": "x"}}, total_steps={total})),
)
"""
    folder = put_skill("lead", "", where=home_skills(), texts={"workflows/look.yaml": INNER})
    (folder / "workflow.yaml").unlink()
    (folder / "workflow.py").write_text(lead)

    reports = check_here([str(folder)], Environment().loader, os.getcwd())

    assert [finding.message for report in reports for finding in report.findings] == problems
