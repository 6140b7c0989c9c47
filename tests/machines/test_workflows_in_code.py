"""A workflow written in Python: its mistakes are found when it is built, or when it is checked."""

from __future__ import annotations

from typing import Any

import pytest

from flowrail.errors import FlowError
from flowrail.machines.checks.check import check
from flowrail.machines.findings import Finding
from flowrail.machines.loading import python_file, workflow_source
from flowrail.machines.loading.skill_folder import WorkflowFile

FILE = """\
from flowrail import Arg, Dispatch, GateConfig, Option, Outcome, Question, Rule, StepDef, Variant, Workflow
def arg_as_default(ctx, mode: str = Arg(required=True)): return Outcome.OK
def decide(ctx): return Outcome.OK
def without_context(): return Outcome.OK
def by_name_only(*, ctx): return Outcome.OK
def by_position(ctx, mode, /): return Outcome.OK
def to_nothing(ctx) -> None: ...
def to_dict(ctx) -> dict: ...
def of_a_number(ctx: int): return Outcome.OK
def to_text(ctx) -> str: return "ok"
def to_texts(ctx) -> tuple[str, dict]: return "ok", {{}}
def yielding(ctx): yield Outcome.OK
def needs_more(ctx, more): return "text"
async def awaited(ctx): return Outcome.OK
class Awaited:
    async def __call__(self, ctx): return Outcome.OK
FIRST = "look"  # not the line of the step
WORKFLOW = Workflow("demo", {step})
"""
STEP = 'StepDef("look", title="Look", actions=["Look."], next={{"ok": None}}, {argument})'


def in_a_step(argument: str) -> str:
    return FILE.format(step=STEP.format(argument=argument))


def run(text: str) -> list[Finding]:
    file = WorkflowFile("demo", "/nowhere", "workflow.py", "steps")
    return list(workflow_source.read(file, {"workflow.py": text.encode()}).findings)


MISTAKES = {
    'handler="x"': "write a function or `Dispatch(...)`",
    "handler=awaited": "write `def` without `async`",
    "handler=without_context": "as in `def decide(ctx)`",
    "handler=by_name_only": "as in `def decide(ctx)`",
    "handler=by_position": "remove the `/`",
    "handler=arg_as_default": "write `mode: Annotated[str, Arg(...)]`",
    "handler=of_a_number": "its first parameter is a `StepContext`",
    "handler=to_text": "return an Outcome",
    "handler=to_texts": "return an Outcome",
    "handler=yielding": "return the value instead of `yield`",
    "handler=to_nothing": "return an Outcome",
    "handler=to_dict": "return an Outcome",
    "title=needs_more": "give it a default",
}


@pytest.mark.parametrize("argument", MISTAKES)
def test_a_function_that_a_step_cannot_call_is_found_when_the_workflow_is_built(argument: str) -> None:
    text = in_a_step(argument)
    if argument.startswith("title"):
        text = text.replace('title="Look", ', "")

    finding = next(finding for finding in run(text) if finding.code == "FR128")

    assert MISTAKES[argument] in finding.remedy
    assert (finding.place.file, finding.place.line) == ("workflow.py", 18)


@pytest.mark.parametrize(
    "argument",
    ["limt=3", 'reports={"x": Arg(choises=["a"])}', 'dispatch=Dispatch("explore", promt="Look.")'],
)
def test_a_misspelt_argument_is_the_type_error_of_python(argument: str) -> None:
    with pytest.raises(
        FlowError, match=r"workflow.py:18: raised TypeError: .* got an unexpected keyword argument"
    ):
        python_file.run(in_a_step(argument).encode(), "demo", "workflow.py")


WRONG_TYPES = {
    'gate={"name": "Review", "review": "look"}': "write GateConfig(...)",
    'questions=[{"id": "go"}]': "write Question(...)",
    'questions=[Question("go", "Go", "Go?", options=[{"label": "Yes"}])]': "write Option(...)",
    'reports={"x": "string"}': "write Arg(...)",
    'reports=["x"]': "write a mapping",
    'variants=[{"when": "visit > 1", "text": "again.md"}]': "write Variant(...)",
    'limit="5"': "write a whole number",
    "limit=True": "write a whole number",
    'reports={"size": Arg(type="integer", min="1")}': "write a whole number or a number",
    'dispatch=Dispatch("explore", over={"a": 1})': "write text or a list",
}


@pytest.mark.parametrize("argument", WRONG_TYPES)
def test_a_value_of_the_wrong_type_is_found_by_checking(argument: str) -> None:
    namespace: dict[str, Any] = {}
    exec(in_a_step(argument).rstrip().removesuffix(")") + ", validate=False)", namespace)  # noqa: S102 - ours

    remedies = {finding.code: finding.remedy for finding in check(namespace["WORKFLOW"])}

    assert remedies == {"FR130": WRONG_TYPES[argument]}


def test_instructions_that_are_three_dots_are_a_warning() -> None:
    text = in_a_step("limit=1").replace('["Look."]', "[...]")

    workflow = python_file.run(text.encode(), "demo", "workflow.py")

    assert [(found.code, found.severity) for found in check(workflow)] == [("FR115", "warning")]
