"""Dispatches, questions and gates in YAML; a wrong shape is reported once, with its line."""

from __future__ import annotations

from flowrail.errors import DocumentError
from flowrail.machines.definition.findings import Place
from flowrail.machines.definition.step_parts import Dispatch, GateConfig, Option, Question
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.yaml_file import read_data
from flowrail.text import yaml as yaml_text


def read_text(path: str) -> str:
    if path != "steps/again.md":
        raise DocumentError(f"`{path}` does not exist", hint="write it", place=path)
    return "Again."


def parsed(text: str) -> LoadedWorkflow:
    document = yaml_text.load(text, source="workflow.yaml")
    return read_data(
        document.value,
        name="dull",
        place=lambda path: Place("workflow.yaml", *document.position(path)),
        read_text=read_text,
    )


def found(text: str) -> list[tuple[str, str]]:
    """Return code and line of every mistake; advice is another's business."""
    wrong = [each for each in parsed(text).findings if each.severity == "error"]
    return [(each.code, str(each.place).removeprefix("workflow.yaml:")) for each in wrong]


FULL = """\
name: dull
params: {areas: {type: list, default: []}}
then: dull/next
steps:
  - id: look
    title: Look
    actions: [Look.]
    dispatch:
      agent: explore
      run: dull/look
      over: areas
      vars: {area: $item, deep: true}
      join: at least 2
      model: sonnet
      lease: 90
    next: {ok: plan}
  - id: plan
    title: Plan
    actions: [Plan.]
    dispatch: {agent: developer, over: [a, b], prompt: steps/again.md}
    questions:
      - id: go
        header: Approve
        text: "Go?"
        options: [{label: "Yes", outcome: ok, description: "All of it"}, {label: "No"}]
        multi: true
        other: fail
        default: "No"
        deadline: 60
    next: {ok: gate, fail: look}
  - id: gate
    title: Gate
    actions: [Decide.]
    gate: {name: Quality, review: plan, limit: 3, policy: "1-2 / 3 / 4+"}
    next: {ok: null, fail: look}
"""


def test_everything_about_agents_stands_for_itself() -> None:
    definition = parsed(FULL).definition

    look, plan, gate = definition.steps
    assert found(FULL) == []
    assert definition.then == "dull/next"
    assert look.dispatch == Dispatch(
        "explore", "dull/look", "areas", {"area": "$item", "deep": True}, "at least 2", "sonnet", (), 90
    )
    assert plan.dispatch == Dispatch("developer", None, ("a", "b"), {}, prompt=("Again.",))
    assert plan.questions == (
        Question(
            *("go", "Approve", "Go?"),
            (Option("Yes", outcome="ok", description="All of it"), Option("No")),
            multi_select=True,
            other="fail",
            default="No",
            deadline=60,
        ),
    )
    assert gate.gate == GateConfig("Quality", review="plan", limit=3, policy="1-2 / 3 / 4+")
