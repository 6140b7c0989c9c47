"""The findings of a workflow written in Python."""

from __future__ import annotations

import pytest

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition.findings import Finding, WorkflowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import python_file

FILE = """\
from flowrail import Arg, Dispatch, GateConfig, Option, Outcome, Question, Rule, StepDef, Variant, Workflow

def decide(ctx): return Outcome.OK
def without_context(): return Outcome.OK
def by_name_only(*, ctx): return Outcome.OK
def by_position(ctx, mode, /): return Outcome.OK
def to_nothing(ctx) -> None: ...
def to_dict(ctx) -> dict: ...
def needs_more(ctx, more): return "text"
async def awaited(ctx): return Outcome.OK
class Awaited:
    async def __call__(self, ctx): return Outcome.OK

WORKFLOW = Workflow("demo", {step})
"""
STEP = 'StepDef("look", title="Look", actions=["Look."], next={{"ok": None}}, {argument})'


def in_a_step(argument: str) -> str:
    return FILE.format(step=STEP.format(argument=argument))


def run(text: str) -> list[Finding]:
    with pytest.raises(WorkflowError) as caught:
        python_file.run(text.encode(), "demo", "workflow.py")
    return list(caught.value.findings)


MISTAKES = {
    "limt=3": ("FR130", "did you mean `limit`?"),
    'reports={"x": {"type": "string", "requird": True}}': ("FR130", "did you mean `required`?"),
    'reports={"x": Arg(choises=["a"])}': ("FR130", "did you mean `choices`?"),
    'rules=[{"iff": "visit > 1", "outcome": "ok"}, ("ok", None)]': ("FR130", "use one of outcome, when"),
    'dispatch=Dispatch("explore", promt="Look.")': ("FR130", "did you mean `prompt`?"),
    'handler="x"': ("FR130", "write `Dispatch(...)`"),
    'gate={"name": "Review", "review": "look"}': ("FR130", "write `GateConfig(...)`"),
    'questions=[{"id": "go"}]': ("FR130", "write `Question(...)`"),
    'questions=[Question("go", "Go", "Go?", options=[{"label": "Yes"}])]': ("FR130", "write `Option(...)`"),
    'reports={"x": "string"}': ("FR130", "write `Arg(...)`"),
    'reports=["x"]': ("FR130", "write a dict"),
    'variants=[{"when": "visit > 1", "text": "again.md"}]': ("FR130", "write `Variant(...)`"),
    "actions=5": ("FR130", "write a list"),
    'limit="5"': ("FR130", "write a whole number"),
    "limit=True": ("FR130", "write a whole number"),
    'reports={"size": Arg(type="integer", min="1")}': ("FR130", "write a number"),
    'dispatch=Dispatch("explore", over={"a": 1})': ("FR130", "write `[a, b]`"),
    "handler=awaited": ("FR128", "write `def` without `async`"),
    "handler=without_context": ("FR128", "as in `def decide(ctx)`"),
    "handler=by_name_only": ("FR128", "as in `def decide(ctx)`"),
    "handler=by_position": ("FR128", "remove the `/`"),
    "handler=to_nothing": ("FR128", "return an Outcome"),
    "handler=to_dict": ("FR128", "return an Outcome"),
    "title=needs_more": ("FR128", "give it a default"),
}


@pytest.mark.parametrize("argument", MISTAKES)
def test_a_mistake_in_a_step_is_found(argument: str) -> None:
    text = in_a_step(argument)
    if argument.startswith(("actions", "title")):
        name = argument.partition("=")[0]
        text = text.replace('title="Look", ' if name == "title" else 'actions=["Look."], ', "")

    findings = run(text)

    code, remedy = MISTAKES[argument]
    assert (code, True) in [(finding.code, remedy in finding.remedy) for finding in findings]


def test_a_workflow_without_a_name_has_findings_like_any_other() -> None:
    with pytest.raises(WorkflowError) as caught:
        Workflow(1, 2)  # type: ignore[arg-type]

    messages = [finding.message for finding in caught.value.findings]
    assert messages == ["`name` is not a text", "step 1 is of type int, not StepDef"]


@pytest.mark.parametrize(
    ("step", "remedy"),
    [
        ('[StepDef("a", "A", ["Do."], next={"ok": None})]', "put `*` before the list"),
        ('StepDef("a", "A", ["Do."], next=None)', "write a dict"),
        ('StepDef("a", "A", ["Do."], next={None: None})', "quote it"),
        ('{"id": "a"}', "write `StepDef(...)`"),
        ('StepDef("a", "A", ["Do."], next={"ok": None}), params={"x": "string"}', "write `Arg(...)`"),
        ('StepDef("a", "A", ["Do."], next={"ok": None}), descripton="x"', "did you mean `description`?"),
    ],
)
def test_a_mistake_in_the_workflow_is_found(step: str, remedy: str) -> None:
    text = FILE.format(step=step)

    run_findings = run(text)

    assert [finding.code for finding in run_findings] == ["FR130"]
    assert remedy in run_findings[0].remedy


def test_a_callable_object_that_is_async_is_refused_when_it_runs() -> None:
    findings = run(in_a_step("handler=Awaited()"))

    assert [(finding.code, finding.remedy) for finding in findings] == [
        ("FR128", "write `def` without `async`")
    ]


def test_an_annotation_may_be_named() -> None:
    text = in_a_step("handler=decide").replace(
        "def decide(ctx)", "Mode = Annotated[str, Arg(choices=('a', 'b'))]\ndef decide(ctx, mode: Mode = 'a')"
    )
    text = "from typing import Annotated\n" + text

    workflow = python_file.run(text.encode(), "demo", "workflow.py")

    assert workflow.params["mode"].choices == ("a", "b")


def test_instructions_that_are_three_dots_are_a_warning() -> None:
    text = in_a_step("limit=1").replace('["Look."]', "[...]")

    workflow = python_file.run(text.encode(), "demo", "workflow.py")

    findings = check_workflow(workflow)
    assert [(finding.code, finding.severity) for finding in findings] == [("FR115", "warning")]
