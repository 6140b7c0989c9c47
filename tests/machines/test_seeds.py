"""The calls that the documents of the project show run as written, imports aside."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import flowrail
from flowrail import (
    AgentRole,
    Arg,
    Confidence,
    Dispatch,
    Outcome,
    Report,
    StepContext,
    StepDef,
    Workflow,
    advance,
    check_workflow,
    register_workflow,
    start,
)
from flowrail.machines.loading import packages

MAX_ITERATIONS = 5


def step_handler(ctx: StepContext) -> tuple[Outcome, dict]:  # type: ignore[type-arg]
    return Outcome.OK, {}


def step_investigate(ctx: StepContext) -> tuple[Outcome, dict]:  # type: ignore[type-arg]
    iteration = ctx.step_state.get("iteration", 1)
    confidence = ctx.workflow_params.get("confidence", "exploring")

    if confidence == "high":
        return Outcome.OK, {"confidence": confidence}
    elif iteration >= MAX_ITERATIONS:  # noqa: RET505 - as written there
        return Outcome.OK, {"confidence": "capped"}
    else:
        return Outcome.ITERATE, {"iteration": iteration + 1}


def walk(workflow: Workflow, *outcomes: str, **params: Any) -> list[str | None]:
    session = start(workflow, params)
    steps = [session.step]
    for outcome in outcomes:
        session = advance(workflow, session, Report(outcome))
        steps.append(session.step)
    return steps


def confidence_loop(**more: Any) -> Workflow:
    return Workflow(
        "problem-analysis",
        StepDef(id="investigate", handler=step_investigate, title="Investigate", actions=["Look around."],
                next={
                    Outcome.OK: "formulate",       # exit loop
                    Outcome.ITERATE: "investigate"  # continue loop
                }),
        StepDef(id="formulate", title="Formulate", actions=["Write."], next={Outcome.OK: None}),
        params={"confidence": Arg(choices=tuple(Confidence), default="exploring")},
        **more,
    )  # fmt: skip


def test_the_workflow_example_is_a_skeleton_that_works() -> None:
    WORKFLOW = Workflow(  # noqa: N806 - as written there
        "decision-critic",
        StepDef(
            id="extract_structure",
            title="Extract Structure",
            actions=["List the claims."],
            handler=step_handler,
            next={Outcome.OK: "classify_verifiability"},
        ),
        StepDef(
            id="classify_verifiability",
            title="Classify Verifiability",
            actions=["Sort them."],
            handler=step_handler,
            next={Outcome.OK: "generate_questions"},
        ),
        StepDef(
            id="generate_questions", title="Generate Questions", actions=["Ask."], next={Outcome.OK: None}
        ),
        description="Structured decision criticism workflow",
    )  # fmt: skip

    assert WORKFLOW.total_steps == 3
    assert walk(WORKFLOW, "done", "done", "ok") == [
        "extract_structure",
        "classify_verifiability",
        "generate_questions",
        None,
    ]


def test_the_confidence_loop_iterates_until_it_is_capped() -> None:
    steps = walk(confidence_loop(), *["done"] * 5)

    assert steps == ["investigate"] * 5 + ["formulate"]


def test_confidence_may_be_reported_while_the_loop_runs() -> None:
    workflow = Workflow(
        "problem-analysis",
        StepDef(
            id="investigate",
            handler=step_investigate,
            title="Investigate",
            actions=["Look around."],
            reports={"confidence": Arg(choices=("exploring", "high"))},
            next={Outcome.OK: "formulate", Outcome.ITERATE: "investigate"},
        ),
        StepDef(id="formulate", title="Formulate", actions=["Write."], next={Outcome.OK: None}),
        params={"confidence": Arg(choices=("exploring", "high"), default="exploring")},
    )

    session = advance(workflow, start(workflow), Report("done", {"confidence": "exploring"}))
    session = advance(workflow, session, Report("done", {"confidence": "high"}))

    assert (session.step, session.state) == ("formulate", {"confidence": "high", "iteration": 2})


def test_the_gate_with_a_dispatch_is_checked_as_written() -> None:
    workflow = Workflow(
        "planner",
        StepDef(id="plan", title="Plan", actions=["Plan."], next={Outcome.OK: "qr_completeness"}),
        StepDef(
            id="qr_completeness",
            title="QR: Plan Completeness",
            actions=["Have it reviewed."],
            handler=Dispatch(
                agent=AgentRole.QUALITY_REVIEWER,
                script="skills.planner.qr.plan_completeness",
            ),
            next={
                Outcome.OK: "implementation",   # QRStatus.PASS -> Outcome.OK
                Outcome.FAIL: "revise_plan",    # QRStatus.FAIL -> Outcome.FAIL
            },
        ),
        StepDef(id="revise_plan", title="Revise", actions=["Mend."], next={Outcome.OK: "qr_completeness"}),
        StepDef(id="implementation", title="Implement", actions=["Do."], next={Outcome.OK: None}),
    )  # fmt: skip

    assert check_workflow(workflow) == []
    assert not workflow.step("qr_completeness").decides
    assert walk(workflow, "ok")[-1] == "qr_completeness"


def test_an_annotated_argument_is_passed_by_name_after_checking() -> None:
    calls: list[str] = []

    def step_handler(
        ctx: StepContext,
        mode: Annotated[str, Arg(description="Workflow mode", choices=("quick", "full"))] = "full",
    ) -> tuple[Outcome, dict]:  # type: ignore[type-arg]
        calls.append(mode)
        return Outcome.OK, {}

    workflow = Workflow(
        "args",
        StepDef(
            id="a", title="A", actions=["Do."], handler=step_handler, next={Outcome.OK: "b"},
        ),
        StepDef(id="b", title="B", actions=["Do."], handler=step_handler, next={Outcome.OK: None}),
    )  # fmt: skip

    assert workflow.params["mode"].description == "Workflow mode"
    walk(workflow, "done", "done")
    walk(workflow, "done", mode="quick")
    with pytest.raises(flowrail.UsageError):
        walk(workflow, mode="fast")
    session = advance(workflow, start(workflow), Report("done", {"mode": "quick"}))
    advance(workflow, session, Report("done"))

    assert calls == ["full", "full", "quick", "quick", "quick"]


def test_a_registered_workflow_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_registered", {})
    WORKFLOW = Workflow(  # noqa: N806 - as written there
        "my-skill",
        StepDef(id="step1", title="...", actions=["..."], handler=step_handler,
                next={Outcome.OK: "step2"}),
        StepDef(id="step2", title="...", actions=["..."],
                next={Outcome.OK: None}),  # terminal
    )  # fmt: skip

    assert register_workflow(WORKFLOW) is WORKFLOW


def test_public_names_are_found_and_others_are_not() -> None:
    assert {"Workflow", "StepDef", "advance", "skill"} <= set(dir(flowrail))
    for name in flowrail.__all__:
        assert getattr(flowrail, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Workfow'"):
        _ = flowrail.Workfow  # type: ignore[attr-defined]
