"""Every Python block of the specification runs, with only its import lines changed.

A block that is a fragment runs in a harness: the names that it needs, and replacements for parts that it leaves out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.workflows import ended

import flowrail.formatters
import flowrail.machines
import flowrail.testing
from flowrail import Arg, Dispatch, Outcome, Report, Session, StepContext, StepDef, Workflow, advance, start
from flowrail.machines import ChoiceSet
from flowrail.machines.guidance.guide import guide
from flowrail.machines.loading import packages

HERE = Path(__file__).parent
IMPORT = re.compile(r"^from (skills\.lib\.workflow[\w.]*|shared) import", re.MULTILINE)


def handler(ctx: StepContext) -> tuple[Outcome, dict[str, Any]]:
    return Outcome.OK, {}


def last_step(step_id: str) -> StepDef:
    return StepDef(id=step_id, title=step_id.title(), actions=["Do."], next={Outcome.OK: None})


class Harness(NamedTuple):
    """The names that a fragment needs, and the texts to replace in it."""

    names: Mapping[str, object] = {}
    replaced: Mapping[str, str] = {}


CORE = {"Outcome": Outcome, "StepContext": StepContext, "StepDef": StepDef, "Workflow": Workflow, "Arg": Arg}
TYPES = {
    "dataclass": dataclass,
    "Any": Any,
    "inspect": __import__("inspect"),
    "Enum": __import__("enum").Enum,
}
CHOOSE = "def choose():\n  if mode"
REMAINING = """\
    StepDef(id="generate_questions", title="Generate", actions=[...], next={Outcome.OK: None}),
"""
FOUR_STEPS = "".join(f'    {n}: {{"title": "...", "actions": [...]}},\n' for n in range(2, 6))
FORMATTED = {
    "format_step": flowrail.formatters.format_step,
    "build_next_command": lambda step, *_: f"next {step + 1}",
    "dispatch_text": "Launch three agents.",
    "CONTEXT_CLARIFICATION_INSTRUCTIONS": "Ask what is meant.",
    "ABSTRACTION_INSTRUCTIONS": "Step back.",
    "INSTRUCTIONS": "Round {iteration} of {max_iter}.",
    "MAX_ITERATIONS": 5,
}
FRAMEWORK: Mapping[int, Harness] = {
    1: Harness(TYPES),
    2: Harness({"mode": "quick"}, {"if mode": CHOOSE, "\nelse": "\n  else", "\n    return": "\n      return"}),
    3: Harness(CORE),
    4: Harness(TYPES),
    5: Harness({**CORE, "MAX_ITERATIONS": 3}),
    6: Harness(CORE),
    7: Harness(CORE),
    8: Harness(TYPES),
    9: Harness(CORE),
    10: Harness(CORE, {"handler=step_analyze, ...)": "handler=step_analyze, next={Outcome.OK: None})"}),
    11: Harness(CORE),
    12: Harness({}, {"    # ... remaining steps\n": REMAINING}),
    13: Harness({**CORE, "step_handler": handler}),
    14: Harness({**CORE, "MAX_ITERATIONS": 3}),
    15: Harness(CORE),
    16: Harness(CORE),
    17: Harness(FORMATTED),
    18: Harness({"step_info": {"supports_questions": True}, "actions": []}),
    19: Harness({"actions": []}),
    20: Harness({"BoundedInt": flowrail.machines.BoundedInt}, {"list(": "values = list("}),
    21: Harness({"ChoiceSet": ChoiceSet}, {"list(": "values = list("}),
    22: Harness({"Constant": flowrail.machines.Constant}, {"list(": "values = list("}),
}  # fmt: skip
SYSTEM: Mapping[int, Harness] = {
    1: Harness({"skill": flowrail.machines.skill}, {'    2: {"title": "...", "actions": [...]},\n': FOUR_STEPS}),
    2: Harness({"StepContext": StepContext}),
    3: Harness(CORE),
    4: Harness(CORE),
    5: Harness(CORE),
    6: Harness({**CORE, "Dispatch": Dispatch, "AgentRole": flowrail.machines.AgentRole}, {", ...)": ")"}),
    7: Harness({"N": 0}),
    14: Harness(),
    16: Harness({"QRState": flowrail.machines.QRState}),
}  # fmt: skip
HARNESS = {"workflow-framework": FRAMEWORK, "skills-system": SYSTEM}


def block(document: str, number: int) -> str:
    """Return a block with its import lines changed."""
    text = (HERE / f"{document}.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return IMPORT.sub(_imported, found[number - 1])


def _imported(line: re.Match[str]) -> str:
    """Return the beginning of an import from our package that has the names."""
    package = "formatters" if "formatters" in line[1] or line[1] == "shared" else "machines"
    return f"from flowrail.{package} import"


def run(document: str, number: int, **names: object) -> dict[str, Any]:
    """Run a block in its harness and return the names that it defines."""
    harness = HARNESS[document].get(number, Harness())
    text = block(document, number)
    for old, new in harness.replaced.items():
        assert old in text, old
        text = text.replace(old, new)
    path = str(HERE / "one" / "two" / "three" / "four.py")
    namespace: dict[str, Any] = {"__name__": "sample", "__file__": path, **harness.names, **names}
    path_before = list(sys.path)
    try:
        exec(compile(text, path, "exec", dont_inherit=True), namespace)  # noqa: S102 - a sample of the specification
    finally:
        sys.path[:] = path_before
    return namespace


def framework(number: int, **names: object) -> dict[str, Any]:
    return run("workflow-framework", number, **names)


def system(number: int, **names: object) -> dict[str, Any]:
    return run("skills-system", number, **names)


def only_step(namespace: Mapping[str, Any], document: str, number: int) -> StepDef:
    """Return the unnamed StepDef of a block."""
    text = block(document, number)
    source = "StepDef(" + text.rpartition("\nStepDef(")[2] if "\nStepDef(" in text else text
    for old, new in HARNESS[document][number].replaced.items():
        source = source.replace(old, new)
    step: StepDef = eval(source, dict(namespace))  # noqa: S307 - a sample of the specification
    return step


def completed(step: StepDef, *others: str, **parts: Any) -> Workflow:
    """Return a workflow with *step*, completed by a title and instructions, and other steps."""
    named = replace(step, title=step.title or "Title", actions=step.actions or ("Do.",))
    return Workflow("sample", named, *(last_step(each) for each in others), **parts)


def walked(workflow: Workflow, *reports: tuple[str, Mapping[str, Any]], **params: Any) -> list[str | None]:
    """Return the steps of a run with these reports."""
    session: Session = start(workflow, params)
    steps = [session.step]
    for word, facts in reports:
        session = advance(workflow, session, Report(word, facts))
        steps.append(session.step)
    return steps


DONE: tuple[str, Mapping[str, Any]] = ("done", {})
OK: tuple[str, Mapping[str, Any]] = ("ok", {})
SURE: tuple[str, Mapping[str, Any]] = ("done", {"confidence": "high"})


@pytest.mark.parametrize("number", range(1, 23))
def test_every_block_of_the_workflow_framework_runs(number: int) -> None:
    assert number in FRAMEWORK

    framework(number)


@pytest.mark.parametrize("number", [*range(1, 10), 12, 13, 14, 15, 16])
def test_every_block_of_the_skills_system_runs(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_registered", {})
    if number == 1:
        with pytest.deprecated_call():
            namespace = system(number)
        assert namespace["main"].workflow.total_steps == 5
        return

    system(number)


# --- the workflow framework


def test_the_types_of_the_document_are_those_of_the_library() -> None:
    outcome, context, arg = framework(1)["Outcome"], framework(4)["StepContext"], framework(8)["Arg"]

    assert {each.name: each.value for each in Outcome} == {each.name: each.value for each in outcome}
    assert set(context.__annotations__) <= set(dir(StepContext("x")))
    assert set(arg.__annotations__) <= set(dir(Arg()))
    assert arg(description="x", choices=("a",)).choices == Arg(description="x", choices=("a",)).choices


@pytest.mark.parametrize(
    ("number", "source"), [(3, "workflow-framework"), (15, "workflow-framework"), (5, "skills-system")]
)
def test_mode_branching_takes_the_branch_of_the_mode(number: int, source: str) -> None:
    namespace = run(source, number)
    step = only_step(namespace, source, number)
    others = [str(target) for target in step.next.values()]
    if "handler=" not in block(source, number):
        step = replace(step, handler=namespace["step_planning"])
    workflow = completed(step, *others, params={"mode": Arg(choices=("quick", "full"), default="full")})

    assert walked(workflow, DONE, OK) == ["planning", "subagent_design", None]
    assert walked(workflow, DONE, OK, mode="quick") == ["planning", others[1], None]


@pytest.mark.parametrize(("number", "source"), [(5, "workflow-framework"), (14, "workflow-framework")])
def test_the_confidence_loop_ends_with_confidence_or_at_its_limit(number: int, source: str) -> None:
    workflow = completed(only_step(run(source, number), source, number), "formulate")

    assert walked(workflow, DONE, SURE, OK) == ["investigate", "investigate", "formulate", None]
    assert walked(workflow, DONE, DONE, DONE) == ["investigate", "investigate", "investigate", "formulate"]


def test_the_short_confidence_loop_waits_for_the_confidence() -> None:
    namespace = system(4)
    step = replace(only_step(namespace, "skills-system", 4), handler=namespace["step_investigate"])
    workflow = completed(step, "formulate")

    explored: tuple[str, Mapping[str, Any]] = ("done", {"confidence": "low"})
    assert walked(workflow, explored, explored, SURE) == ["investigate"] * 3 + ["formulate"]


@pytest.mark.parametrize(("number", "name"), [(6, "handler"), (7, "step_handler"), (10, "step_analyze")])
def test_the_handlers_of_the_document_decide_a_step(number: int, name: str) -> None:
    namespace = framework(number)
    step = StepDef("only", "Only", ["Do."], namespace[name], {Outcome.OK: None})

    assert walked(Workflow("sample", step), DONE) == ["only", None]


def test_an_arg_is_read_from_the_signature() -> None:
    step = StepDef("only", "Only", ["Do."], framework(9)["step_handler"], {Outcome.OK: None})

    mode = Workflow("sample", step).params["mode"]

    assert (mode.description, mode.choices, mode.default) == ("Workflow mode", ("quick", "full"), "full")


@pytest.mark.parametrize(
    ("number", "source"), [(11, "workflow-framework"), (16, "workflow-framework"), (6, "skills-system")]
)
def test_a_dispatch_hands_its_step_to_an_agent(number: int, source: str) -> None:
    step = only_step(run(source, number), source, number)
    targets = [str(target) for target in step.next.values()]
    workflow = completed(step, *targets)

    session = start(workflow)

    work = guide(workflow, session).work
    assert work is not None
    assert work.agent == "quality-reviewer"
    for outcome, target in zip(("pass", "fail"), targets, strict=True):
        children = ended(session, "ok" if outcome == "pass" else "fail")
        assert advance(workflow, session, Report(outcome), children=children).step == target


@pytest.mark.parametrize(("number", "source", "steps"), [
    (12, "workflow-framework", ["extract_structure", "classify_verifiability", "generate_questions", None]),
    (13, "workflow-framework", ["step1", "step2", "step3", None]),
    (2, "skills-system", ["step1", "step2", None]),
])  # fmt: skip
def test_a_linear_workflow_runs_to_its_end(
    number: int, source: str, steps: Sequence[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_registered", {})
    workflow = run(source, number)["WORKFLOW"]

    assert walked(workflow, *[DONE] * (len(steps) - 2), OK) == steps
    if source == "skills-system":
        assert packages._registered["my-skill"] is workflow


def test_hybrid_steps_are_formatted_by_a_table_or_a_function() -> None:
    format_output = framework(17)["format_output"]

    assert "Ask what is meant." in format_output(1, "full", "low", 1)
    assert "Launch three agents." in format_output(9, "full", "low", 1)
    refined = format_output(13, "full", "certain", 2)
    assert "Round 2 of 5." in refined
    assert "Iterative Refinement (Iteration 2) -> Complete" in refined
    assert format_output(99, "full", "low", 1) == "ERROR: Invalid step 99"


def test_question_relay_texts_are_appended_to_actions() -> None:
    assert "AskUserQuestion" in framework(18, actions=[])["actions"][0]
    assert "needs_user_input" in framework(19, actions=[])["actions"][0]


@pytest.mark.parametrize(("number", "values"), [(20, [1, 2, 3, 4, 5]), (21, ["full", "quick"]), (22, [42])])
def test_domains_list_their_values(number: int, values: list[Any]) -> None:
    assert framework(number)["values"] == values


# --- the skills system


def script(number: int, tmp_path: Path, *words: str) -> str:
    file = tmp_path / "a" / "b" / "c" / "script.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block("skills-system", number), encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(file), *words], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_the_simple_skill_prints_its_two_steps(tmp_path: Path) -> None:
    first, second = (script(10, tmp_path, "--step", str(step), "--total-steps", "2") for step in (1, 2))

    assert all(text in first for text in ("Analyze Problem", "Identify issues", "Propose Solution"))
    assert "Document approach" in second
    assert "Analyze" not in second


def test_the_skill_with_a_review_loop_routes_by_the_result_of_the_review(tmp_path: Path) -> None:
    words = ["--step", "3", "--total-steps", "4"]

    passed = script(11, tmp_path, *words, "--qr-status", "pass")
    failed = script(11, tmp_path, *words, "--qr-status", "fail", "--qr-iteration", "2")

    assert "Implementation verified" in passed
    assert "flow show script 4" in passed
    assert "Implementation verified" not in failed
    assert "flow show script 1" in failed
    assert script(11, tmp_path, "--step", "1", "--total-steps", "4") == ""


def test_blocks_and_texts_mix_in_actions_and_in_one_string() -> None:
    actions = system(14)["actions"]

    joined = "\n".join(actions)
    workflow = Workflow("sample", replace(last_step("only"), actions=[joined]))
    (told,) = flowrail.machines.guide(workflow, start(workflow)).actions
    assert all(text in told for text in ("<state_banner", "<forbidden", "TASK: Fix identified issues"))


def test_a_sub_agent_dispatch_names_the_script_and_its_context() -> None:
    dispatch = system(15)["actions"][2]

    assert "/path/to/explore.py" in dispatch
    assert "naming" in dispatch
    assert "--step 1 --total-steps 2" in dispatch


def test_a_fresh_review_is_announced_as_one() -> None:
    banner = system(16)["banner"]

    assert "PLAN REVIEW (Iteration 2, fresh review)" in banner
    assert "Previous review found issues." in banner
