"""The calls that the documents of the project show run as written, imports aside."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import flowrail
from flowrail import (
    Arg,
    Confidence,
    Outcome,
    Report,
    StepContext,
    StepDef,
    Workflow,
    advance,
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
