"""Dispatches, questions and gates in YAML; a wrong shape is reported once, with its line."""

from __future__ import annotations

import pytest

from flowrail.errors import DocumentError
from flowrail.machines.definition.findings import Place
from flowrail.machines.definition.step_parts import Dispatch, GateConfig, Option, Question
from flowrail.machines.loading.document import ReadWorkflow
from flowrail.machines.loading.yaml_file import read_data
from flowrail.text import yaml as yaml_text


def read_text(path: str) -> str:
    if path != "steps/again.md":
        raise DocumentError("not found", hint="write it", place=path)
    return "Again."


def parsed(text: str) -> ReadWorkflow:
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


@pytest.mark.parametrize(
    ("right", "wrong", "mistake"),
    [
        ("agent: explore", "agnet: explore", None),
        ("lease: 90", "lease: 0", ("FR153", "15")),
        ("lease: 90", "lease: soon", ("FR130", "15")),
        ("over: areas", "over: 5", ("FR130", "11")),
        ("over: areas", "over: topics", ("FR140", "11")),
        ("join: at least 2", "join: [all]", ("FR130", "13")),
        ("join: at least 2", "join: most", ("FR142", "13")),
        ("vars: {area: $item, deep: true}", "vars: [area]", ("FR130", "12")),
        ("area: $item", "area: $itm", ("FR141", "12")),
        ("prompt: steps/again.md", "prompt: 5", ("FR130", "20")),
        ("prompt: steps/again.md", "prompt: steps/none.md", ("FR125", "20")),
        ("prompt: steps/again.md", "model: opus", ("FR144", "20")),
        ("header: Approve", "header: 5", ("FR130", "23")),
        ("header: Approve", "header: Approve the plan", ("FR146", "23")),
        ("id: go", "id: 5", ("FR130", "22")),
        ('text: "Go?"', "txt: Go", None),
        ('label: "Yes"', "label: 5", ("FR130", "25")),
        ("outcome: ok, description", "outcome: okay, description", ("FR147", "25")),
        ("outcome: ok, description", "outcome: skip, description", ("FR147", "25")),
        ("multi: true", "multi: many", ("FR130", "26")),
        ("other: fail", "other: skip", ("FR147", "27")),
        ('default: "No"', "default: Maybe", ("FR146", "28")),
        ("deadline: 60", "deadline: 1h", ("FR130", "29")),
        ("deadline: 60", "deadline: 0", ("FR146", "29")),
        ("review: plan", "review: plann", ("FR148", "34")),
        ("review: plan", "reviews: plan", None),
        ("limit: 3", "limit: 0", ("FR150", "34")),
        ("1-2 / 3 / 4+", "1-2", ("FR150", "34")),
        ("ok: null, fail: look", "ok: null", ("FR148", "35")),
        ("ok: null, fail: look", "ok: null, fail: null", ("FR149", "35")),
        ("then: dull/next", "then: dull/$kind", ("FR151", "3")),
    ],
)
def test_one_mistake_is_told_once_with_its_line(
    right: str, wrong: str, mistake: tuple[str, str] | None
) -> None:
    assert FULL.count(right) >= 1

    told = found(FULL.replace(right, wrong, 1))

    if mistake is None:  # one key is missing and another is not known
        assert {code for code, _ in told} == {"FR130"}
        assert 1 <= len(told) <= 2
    else:
        assert told == [mistake]
