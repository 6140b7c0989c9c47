"""Python is read as text: the result is the same as when the file runs, and nothing is run or guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_workflows import workflows

from flowrail.machines.definition.findings import Finding
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow, to_plain
from flowrail.machines.loading.python_source import read_python
from flowrail.machines.loading.run_python import NotLoadedError, run_python

HEAD = "from flowrail import AgentRole, Arg, Dispatch, Outcome, Rule, StepDef, Variant, Workflow\n"
ONE = "StepDef('a', title='A', actions=['Do.'], next={'ok': None})"


def read(text: str, address: str = "dull") -> tuple[Workflow, tuple[Finding, ...]]:
    return read_python(text.encode(), address, "workflow.py")[:2]


def running(text: str, address: str = "dull") -> Workflow:
    return run_python(text.encode(), address, "/nowhere/workflow.py")


# --- reading gives the same as running


def written(definition: Workflow, draw: Any) -> str:
    """Return a file that defines *definition*, in one of many spellings."""
    constants: list[str] = []

    def spelled(value: Any) -> str:
        code = repr(value) if not isinstance(value, Outcome) else f"Outcome.{value.name}"
        if isinstance(value, str) and value and not isinstance(value, Outcome) and draw(st.booleans()):
            code = f"{value[:1]!r} + {value[1:]!r}"
        if draw(st.booleans()):
            constants.append(f"C{len(constants)} = {code}")
            return f"C{len(constants) - 1}"
        return code

    def arg(declared: Arg) -> str:
        bounds = f"required={declared.required}, min={declared.min}, max={declared.max}"
        return f"Arg(type={declared.kind!r}, choices={declared.choices!r}, {bounds})"

    def step_def(step: StepDef) -> str:
        transitions = ", ".join(
            f"{spelled(outcome)}: {spelled(target)}" for outcome, target in step.next.items()
        )
        rules = ", ".join(f"Rule({rule.outcome!r}, {spelled(rule.when)})" for rule in step.rules)
        reports = ", ".join(f"{name!r}: {arg(fact)}" for name, fact in step.reports.items())
        parts = [spelled(step.id), f"title={spelled(step.title)}", f"actions=[{spelled(step.actions[0])}]"]  # type: ignore[index]
        parts += [f"next={{{transitions}}}", f"when={spelled(step.when)}", f"limit={spelled(step.limit)}"]
        return f"StepDef({', '.join(parts)}, rules=[{rules}], reports={{{reports}}})"

    steps = ",\n    ".join(step_def(step) for step in definition.steps)
    params = "{'mode': Arg(choices=('quick', 'full'), default='full')}"
    call = f"WORKFLOW = Workflow({spelled(definition.name)}, {steps}, description='D', params={params})"
    return HEAD + "\n".join([*constants, call])


@given(workflows(functions=False), st.data())
@settings(max_examples=30)
def test_reading_a_file_gives_the_same_as_running_it(definition: Workflow, data: st.DataObject) -> None:
    text = written(definition, data.draw)

    parsed, findings = read(text, definition.name)

    assert findings == ()
    assert to_plain(parsed) == to_plain(running(text, definition.name))
    assert to_plain(parsed) == {**to_plain(definition), "description": "D"}


def test_work_questions_and_gates_are_read() -> None:
    text = """
from flowrail import Dispatch, GateConfig, Option, Question, StepDef, Workflow
YES = Option("Yes", outcome="ok", description="All of it")
WORKFLOW = Workflow(
    "dull",
    StepDef("look", "Look", ["Look."], next={"ok": "ask", "fail": None},
            dispatch=Dispatch("explore", None, ["a", "b"], join="any", prompt=("About $item.",), lease=90)),
    StepDef("ask", "Ask", ["Ask."], next={"ok": "gate", "fail": "look"},
            questions=[Question("go", "Go", "Go?", (YES, Option("No", outcome="fail")), other="fail")]),
    StepDef("gate", "Gate", ["Decide."], gate=GateConfig("Quality", review="ask", limit=3),
            next={"ok": None, "fail": "look"}),
    resources={"map": "The map."},
)
"""
    parsed, findings = read(text)
    ran = running(text)

    assert [finding for finding in findings if finding.severity == "error"] == []
    assert parsed.steps == ran.steps
    assert parsed.resources == ran.resources == {"map": "The map."}
    assert parsed.steps[0].dispatch == ran.steps[0].dispatch
    assert to_plain(parsed) == to_plain(ran)


def test_functions_are_marked_and_never_called() -> None:
    text = f"""{HEAD}
def look(ctx):
    raise SystemExit
def title(ctx):
    raise SystemExit
WORKFLOW = Workflow(
    "dull",
    StepDef("a", title=title, actions=lambda ctx: 1 / 0, handler=look, when=None, next={{"ok": None}}),
)
"""
    parsed, findings = read(text)

    first_step = parsed.steps[0]
    assert findings == ()
    assert all(callable(part) for part in (first_step.title, first_step.actions, first_step.handler))
    assert first_step.decides
    handler: Any = first_step.handler
    assert handler.__qualname__ == "look"
    with pytest.raises(TypeError, match="look was read, not loaded"):
        handler(None)


DECLARING = f"""from typing import Annotated, Literal
import typing
{HEAD}
MODES = ("quick", "full")
def decide(
    ctx,
    mode: Annotated[str, Arg(choices=MODES)] = "full",
    *,
    rounds: typing.Annotated[int, Arg(min=1, max=5)] = 2,
) -> Literal[Outcome.OK, "fail"]: ...
def note(ctx, odd: Annotated[str, Arg(choices=open("x"))], text: "Annotated[str, Arg()]") -> Annotated[str, 1]: ...
WORKFLOW = Workflow(
    "dull",
    StepDef("a", title="A", actions=["$mode"], handler=decide, next={{"ok": "b", "fail": None}}),
    StepDef("b", title="B", actions=["Do."], handler=NOTE, next={{"ok": None}}),
)
"""


def test_the_declarations_of_a_handler_are_read_as_running_the_file_gives_them() -> None:
    text = DECLARING.replace("NOTE", "decide").replace(
        'Literal[Outcome.OK, "fail"]', 'tuple[Literal["ok"], dict]'
    )

    parsed, findings = read(text)

    assert findings == ()
    assert dict(parsed.params) == dict(running(text.replace("choices=open", "choices=tuple")).params)


def test_a_wrong_declaration_of_a_handler_is_found_in_its_line() -> None:
    text = (
        DECLARING.replace("NOTE", "note")
        .replace('= "full"', '= "fast"')
        .replace('"fail": None', '"skip": None')
    )

    findings = read(text)[1]

    lines = text.splitlines()
    lines_found = [(finding.code, lines[finding.place.line - 1].strip()[:6]) for finding in findings]
    unread = [("FR190", "def no"), ("FR190", "def no")]
    assert lines_found == [("FR122", "mode: "), *unread, ("FR110", "StepDe")]
    assert [finding.message for finding in findings[1:3]] == [
        "what `odd` takes is computed, not read",
        "what `text` takes is computed, not read",
    ]


# --- nothing runs


def test_reading_runs_nothing(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    touch = f"str(open({str(canary)!r}, 'w').close())"
    text = f"""{HEAD}
{touch}
class Meta(type):
    {touch}
@(lambda f: {touch} and f)
def handler(ctx, x={touch}): ...
STEP = StepDef(
    "a", title=f"{{{touch}}}", actions=["Do."], next={{"ok": None}}, handler=handler, when=[{touch}][0]
)
WORKFLOW = Workflow("dull", STEP, description={touch})
"""
    read(text)
    assert not canary.exists()

    running(text.replace(", when=", ", phase="))
    assert canary.exists()


# --- nothing is guessed


def in_step(arguments: str) -> str:
    return f"WORKFLOW = Workflow('dull',\n StepDef({arguments}))"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("WORKFLOW = make()", 1),
        ("W = 1\nWORKFLOW = W", 2),
        (f"if True:\n    WORKFLOW = Workflow('dull', {ONE})", 1),
        (f"WORKFLOW = Workflow('dull', {ONE})\nif x:\n    WORKFLOW = None", 1),
        (f"class StepDef: ...\nWORKFLOW = Workflow('dull', {ONE})", 1),
        (f"WORKFLOW = Workflow('dull', {ONE}, **more)", 1),
        (f"WORKFLOW = Workflow('dull', {ONE}, of_tomorrow=1)", 1),
        (f"WORKFLOW = Workflow('dull', {ONE}, self=1)", 1),
        (f"\nWORKFLOW = Workflow(\n  name(), {ONE})", 3),
        (f"WORKFLOW = Workflow('dull', {ONE},\n params=dict(a=1))", 2),
        (f"WORKFLOW = Workflow('dull', {ONE},\n make('b'))", 2),
        (in_step("**parts"), 2),
        (in_step("name()"), 2),
        (in_step("title='A'"), 2),
        (in_step("'a', next=ways()"), 2),
        (in_step("'a', next={'ok': None, **more}"), 2),
        (in_step("'a', next={('ok',): None}"), 2),
        (in_step("'a', title=f'{x}', next={'ok': None}"), 2),
        (in_step("'a', when=Arg(5, 5, choices=5), next={}"), 2),
        (in_step("'a', title=Outcome.MAYBE, next={'ok': None}"), 2),
        ("A = B\nB = A\n" + in_step("'a', title=A, next={'ok': None}"), 2),
    ],
)
def test_a_value_that_only_running_would_give_is_named_with_its_line(text: str, line: int) -> None:
    (finding,) = read(text)[1]

    assert finding.code in {"FR190", "FR130"}
    assert (finding.place.file, finding.place.line) == ("workflow.py", line)


@pytest.mark.parametrize(
    "more",
    [
        "TITLE = 'B'",
        "TITLE += 'B'",
        "del TITLE",
        "import a as TITLE",
        "def TITLE(): ...",
        "def other():\n    global TITLE\n    TITLE = 'B'",
    ],
)
def test_a_name_that_is_bound_more_than_once_is_not_read(more: str) -> None:
    text = (
        f"TITLE = 'A'\n{more}\nWORKFLOW = Workflow('dull', StepDef('a', TITLE, 'Do.', next={{'ok': None}}))"
    )

    parsed, findings = read(text)

    assert [finding.code for finding in findings] == ["FR190"]
    assert parsed.steps[0].title == ""


def test_the_rest_is_read_if_a_part_is_computed() -> None:
    last = "StepDef('c', title=t(), next={'ok': None})"

    parsed, findings = read(f"WORKFLOW = Workflow('dull', {ONE}, make('b'), {last}, description=d())")

    assert [step.id for step in parsed.steps] == ["a", "c"]
    assert {finding.code for finding in findings} == {"FR190"}
    assert len(findings) == 3


# --- anything

LITERALS = st.recursive(
    st.sampled_from(
        ["None", "True", "-1", "0", "1.5", "''", "'a'", "'ok'", "b'x'", "...", "1j", "x", "Outcome.OK", "f()"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, max_size=3).map(lambda items: f"({''.join(f'{item}, ' for item in items)})"),
        st.lists(st.tuples(inner, inner), max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items) + "}"
        ),
        st.tuples(st.sampled_from(["Arg", "Rule", "Variant", "Dispatch"]), inner, inner).map(
            lambda parts: f"{parts[0]}({parts[1]}, {parts[2]})"
        ),
    ),
    max_leaves=6,
)
PARTS = st.sampled_from(
    ["title", "actions", "handler", "next", "phase", "when", "limit", "reports", "rules", "variants"]
)
OPTIONS = st.sampled_from(["entry_point", "description", "params", "name"])


@given(
    st.dictionaries(PARTS, LITERALS, max_size=4),
    st.dictionaries(OPTIONS, LITERALS, max_size=2),
    LITERALS,
)
def test_any_content_of_a_file_is_read_or_has_a_finding(
    parts: dict[str, str], options: dict[str, str], name: str
) -> None:
    arguments = "".join(f", {key}={value}" for key, value in parts.items())
    more = "".join(f", {key}={value}" for key, value in options.items())
    text = f"{HEAD}\nWORKFLOW = Workflow({name}, StepDef('a'{arguments}){more})"

    parsed, findings = read(text)

    for finding in findings:
        assert finding.place
    if not findings:
        try:
            ran = running(text)
        except NotLoadedError:
            return
        assert parsed.steps == ran.steps


def test_only_utf_8_is_read() -> None:
    (finding,) = read_python("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "dull", "w.py").findings

    assert (finding.code, finding.message) == ("FR100", "the file is not UTF-8")
