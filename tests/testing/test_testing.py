"""What tests of one's own get from `flowrail.testing`."""

from __future__ import annotations

import pytest
from support.workflows import linear, step, workflow

from flowrail.errors import FlowError
from flowrail.machines.definition.delegation import Dispatch
from flowrail.machines.definition.gates import GateConfig
from flowrail.machines.definition.questions import Option, Question
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import skill_folder
from flowrail.skills.catalog import find, workflow_file
from flowrail.testing import Run, generate_inputs, run_skill_invocation


def bundled(address: str) -> Workflow:
    return skill_folder.read(workflow_file(address, find(address, ()))).definition


def test_a_run_is_stepped_in_memory() -> None:
    run = Run(linear("first", "second"))

    assert (run.step, run.status, run.instructions) == ("first", "active", "Do first.")
    assert run.report("ok").step == "second"
    assert run.report("ok").status == "completed"


def test_a_run_takes_parameters_facts_answers_agents_and_findings() -> None:
    ask = Question("go", "Go", "On?", (Option("Yes", outcome="ok"), Option("No", outcome="fail")))
    work = Dispatch("explore", None, ("a", "b"), {}, "any", None, ("Look at $item.",))
    made = workflow(
        step("look", next={"ok": "ask"}, reports={"areas": Arg(type="list", required=True)}),
        step("ask", questions=[ask], next={"ok": "work", "fail": None}),
        step("work", dispatch=work, next={"ok": "gate", "fail": None}),
        step("gate", gate=GateConfig("Work", review="work"), next={"ok": None, "fail": "work"}),
        params={"topic": Arg(default="")},
    )

    run = Run(made, topic="x").report("ok", areas=["a"]).answer(go="Yes").report()

    assert run.agents("fail", "ok").finding("MUST").report("ok").report().step == "work"
    assert run.session.state["areas"] == ("a",)
    assert run.agents("ok").report("ok").report().status == "completed"
    with pytest.raises(FlowError):
        run.report("ok")


def test_an_invocation_is_one_process_and_its_exit_status() -> None:
    analysis = bundled("problem-analysis")
    inputs = [each for each in generate_inputs(analysis) if each["step"] == 3][:1]

    assert [run_skill_invocation(analysis, each) for each in inputs] == [0]
    assert run_skill_invocation(analysis, {"step": 1, "total_steps": 5, "confidence": "sure"}) == 2
    assert run_skill_invocation(linear("a"), {"step": 1, "total_steps": 1}) == 2
