"""Blocks: well-formed whatever is in them, escaped once, and the same every time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.blocks import BRANCH, FLAT, GATE, LOOK, SAMPLES, TEXT_SAMPLES

from flowrail.formatters.blocks import (
    dispatch,
    instructions,
    plain_text,
    review,
)
from flowrail.formatters.blocks import (
    step as block_step,
)
from flowrail.machines.definition.delegation import AgentRole
from flowrail.machines.definition.gates import POLICIES, GateConfig, QRState
from flowrail.machines.definition.script_steps import BranchCommand, FlatCommand
from flowrail.machines.engine.questions import (
    ACCEPT,
    ANOTHER,
    MUST_ONLY,
    STOP,
)
from flowrail.machines.guidance.question_relay import Option, Question, as_xml
from flowrail.text.markup import Markup
from flowrail.text.safe_text import one_line, visible

T = TypeVar("T")

GOLDEN = Path(__file__).parents[1] / "golden" / "blocks"

NAMED = re.findall(
    r"\w+",
    """step_header, current_action, invoke_after, next_block, gate_result, xml_mandate, step_output,
    subagent_dispatch, model_selection, parallel_dispatch, template_dispatch, roster_dispatch,
    conditional_dispatch, state_banner, qr_banner, expected_output, forbidden, routing, post_qr_routing,
    resource, detection_questions, verification_checklist, incorrect_behavior, orchestrator_constraint,
    factored_verification_rationale, open_question_guidance, gate_actions, gate_step, qr_file_output""",
)
NAMED_TEXT = ["text_step_header", "text_output", "step", "invoke_command"]
ROOMS = (instructions, dispatch, plain_text, review, block_step)


def tree(text: str) -> ET.Element:
    """Return what an XML parser makes of a block; text alone is taken as well."""
    return ET.fromstring(f"<all>{text}</all>".encode())  # noqa: S314 - our own output


def words(text: str) -> str:
    """Return the characters that an XML parser sees in a block."""
    return "".join(tree(text).itertext())


# --- any input

NASTY = st.sampled_from(
    [
        *("]]>", "<![CDATA[", "<!--", "-->", "<?x ?>", "&amp;", "&", "<", ">", '"', "'", "</forbidden>"),
        *(
            "\x00",
            "\x1b[2J",
            "\ud800",
            "\ufffe",
            "\u202e",
            "\u200b",
            "\r",
            "\r\n",
            "\n",
            "\t",
            "\x85",
            "\u2028",
        ),
        *(
            "$name",
            "${x}",
            "%s",
            "{0}",
            "```flow:forbidden",
            "<!DOCTYPE x [<!ENTITY y 'z'>]>",
            "é",
            "\U0001f600",
        ),
    ]
)
TEXTS = st.lists(NASTY | st.text(st.characters(exclude_categories=()), max_size=6), max_size=5).map("".join)
FILLED = TEXTS.filter(bool)
LISTS = st.lists(TEXTS, max_size=3)
MAPPINGS = st.dictionaries(TEXTS, TEXTS, max_size=3)
NUMBERS = st.integers(1, 12)
STATES = st.builds(QRState, NUMBERS, st.booleans(), st.sampled_from([None, "pass", "fail"]))
GATES = st.builds(
    GateConfig,
    TEXTS,
    NUMBERS,
    st.none() | NUMBERS,
    TEXTS,
    st.booleans(),
    st.none() | st.sampled_from(AgentRole),
)
COMMANDS = st.none() | st.builds(FlatCommand, TEXTS) | st.builds(BranchCommand, TEXTS, TEXTS)
PHASES = st.none() | TEXTS
ROUNDS = {"limit": NUMBERS, "policy": st.sampled_from(list(POLICIES.values()))}
QUESTIONS = st.builds(Question, TEXTS, TEXTS, TEXTS, st.lists(st.builds(Option, TEXTS, TEXTS), max_size=2))


def calls(function: Callable[..., T], *arguments: Any, **named: Any) -> st.SearchStrategy[T]:
    """Return what a formatter makes of arguments at random."""
    return st.builds(function, *arguments, **named)


def _template(names: list[str], values: list[str], rest: str) -> str:
    template = rest.replace("$", "") + "".join(f" ${name} " for name in names)
    targets = [dict.fromkeys(names, value) for value in values]
    return dispatch.format_template_dispatch("explore", template, targets, commands=values, model=rest)


def _roster(tasks: Mapping[str, str], shared: str, join: str) -> str:
    commands = list(tasks.values())
    return dispatch.format_roster_dispatch(shared, shared, tasks, commands=commands, join=join)


VALUE_NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True), max_size=2)

MADE: Mapping[str, st.SearchStrategy[str]] = {
    "step_header": calls(block_step.format_step_header, TEXTS, NUMBERS, NUMBERS, TEXTS, PHASES),
    "current_action": calls(block_step.format_current_action, LISTS),
    "invoke_after": calls(block_step.format_invoke_after, COMMANDS),
    "next_block": calls(block_step.format_next_block, COMMANDS),
    "gate_result": calls(block_step.format_gate_result, TEXTS, TEXTS),
    "step_output": calls(
        block_step.format_step_output,
        *(TEXTS, NUMBERS, NUMBERS, TEXTS, LISTS, COMMANDS, PHASES),
        gate_result=st.none() | st.tuples(TEXTS, TEXTS),
        mandate=st.booleans(),
    ),
    "subagent_dispatch": calls(
        dispatch.format_subagent_dispatch,
        *(TEXTS, FILLED, NUMBERS, st.none() | NUMBERS, st.none() | MAPPINGS),
        free_form=st.booleans(),
        command=TEXTS,
        model=PHASES,
    ),
    "model_selection": calls(dispatch.format_model_selection, TEXTS, TEXTS),
    "parallel_dispatch": calls(dispatch.format_parallel_dispatch, LISTS, TEXTS),
    "template_dispatch": calls(_template, VALUE_NAMES, LISTS, TEXTS),
    "roster_dispatch": calls(_roster, MAPPINGS, TEXTS, TEXTS),
    "conditional_dispatch": calls(dispatch.format_conditional_dispatch, TEXTS, TEXTS, TEXTS),
    "state_banner": calls(
        instructions.format_state_banner, TEXTS, NUMBERS | TEXTS, TEXTS, LISTS, limit=NUMBERS
    ),
    "qr_banner": calls(review.format_qr_banner, STATES, TEXTS, fresh_review=st.booleans()),
    "expected_output": calls(instructions.format_expected_output, LISTS),
    "forbidden": calls(instructions.format_forbidden, LISTS),
    "routing": calls(instructions.format_routing, MAPPINGS),
    "post_qr_routing": calls(
        review.format_post_qr_routing, self_fix=st.booleans(), fix_target=st.none() | TEXTS
    ),
    "resource": calls(instructions.format_resource, TEXTS, TEXTS, PHASES),
    "detection_questions": calls(instructions.format_detection_questions, LISTS, PHASES),
    "verification_checklist": calls(instructions.format_verification_checklist, LISTS, PHASES),
    "incorrect_behavior": calls(instructions.format_incorrect_behavior, LISTS, TEXTS),
    "gate_actions": calls(review.format_gate_actions, STATES, GATES, **ROUNDS).map("\n".join),
    "gate_step": calls(
        review.format_gate_step,
        *(TEXTS, NUMBERS, NUMBERS, TEXTS, STATES, GATES, PHASES),
        **ROUNDS,
    ),
    "qr_file_output": calls(review.format_qr_file_output, st.booleans(), PHASES, TEXTS),
    "needs_user_input": calls(as_xml, st.lists(QUESTIONS, max_size=2)),
}


@pytest.mark.parametrize("name", [each for each in MADE if each != "gate_actions"])
@settings(max_examples=40)
@given(data=st.data())
def test_whatever_goes_in_comes_out_well_formed_with_nothing_hidden(name: str, data: st.DataObject) -> None:
    made = data.draw(MADE[name])

    seen = words(made)

    assert isinstance(made, Markup)
    assert visible(made) == made
    assert "\x1b" not in seen


@settings(max_examples=60)
@given(actions=st.lists(st.one_of(TEXTS, *MADE.values()), max_size=4))
def test_what_is_put_together_is_well_formed_too(actions: list[str]) -> None:
    made = block_step.format_current_action(actions)

    tree(made)
    for each in actions:
        if isinstance(each, Markup):
            assert each in made


@given(TEXTS)
def test_a_plain_string_is_read_back_as_it_was_but_for_what_is_hidden(text: str) -> None:
    assert words(block_step.format_current_action([text])) == f"\n{visible(text)}\n"


@given(st.tuples(TEXTS, FILLED), NUMBERS, STATES)
def test_text_forms_hide_nothing_and_commands_are_one_line(
    texts: tuple[str, str], step: int, qr: QRState
) -> None:
    first, second = texts

    told = plain_text.format_text_output(step, 12, first, [first, second], second, first)
    command = plain_text.format_invoke_command(first, step, 12, qr=qr)

    assert visible(told) == told
    assert visible(plain_text.format_step(first, second, second)).startswith(one_line(second))
    assert visible(command) == command
    assert "\n" not in command


# --- once


def test_a_block_among_plain_strings_is_not_escaped_again() -> None:
    inner = instructions.format_forbidden(["a < b"])

    outer = block_step.format_current_action(["if a < b:", "", inner])

    assert outer == f"<current_action>\nif a &lt; b:\n\n{inner}\n</current_action>"


def test_a_plain_string_that_looks_like_a_block_is_escaped() -> None:
    made = block_step.format_current_action([str.__str__(instructions.format_forbidden(["x"]))])

    assert "<forbidden>" not in made


def test_a_block_that_was_cut_or_joined_is_a_plain_string_again() -> None:
    inner = instructions.format_forbidden(["x"])

    for changed in (inner + "", inner[:], f" {inner}", inner.replace("x", "y"), f"{inner}\n{inner}"):
        assert not isinstance(changed, Markup)


def test_asking_a_block_for_its_text_keeps_it_a_block() -> None:
    assert isinstance(str(instructions.format_forbidden(["x"])), Markup)


# --- golden


def _golden(name: str, ending: str, text: str) -> None:
    file = GOLDEN / f"{name}.{ending}"
    if os.environ.get("FLOWRAIL_GOLDEN") == "write":
        file.write_text(f"{text}\n", encoding="utf-8")
    assert file.read_text(encoding="utf-8") == f"{text}\n"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_block_looks_as_in_its_golden_file(name: str) -> None:
    made = SAMPLES[name]()

    tree(made)
    _golden(name, "xml", made)


@pytest.mark.parametrize("name", TEXT_SAMPLES)
def test_a_text_form_looks_as_in_its_golden_file(name: str) -> None:
    _golden(name, "txt", TEXT_SAMPLES[name]())


def test_every_golden_file_belongs_to_a_sample() -> None:
    files = {file.name for file in GOLDEN.iterdir()}

    assert files == {f"{name}.xml" for name in SAMPLES} | {f"{name}.txt" for name in TEXT_SAMPLES}


def test_every_formatter_of_the_design_exists_once_and_has_a_sample() -> None:
    found = [name for room in ROOMS for name, value in vars(room).items() if _is_own(room, name, value)]

    assert sorted(found) == sorted(f"format_{name}" for name in [*NAMED, *NAMED_TEXT])
    assert set(NAMED) <= {name.partition(".")[0] for name in SAMPLES}
    assert set(NAMED_TEXT) <= {name.partition(".")[0] for name in TEXT_SAMPLES}


def _is_own(room: Any, name: str, value: Any) -> bool:
    return name.startswith("format_") and value.__module__ == room.__name__


# --- what the seeds show


def test_blocks_compose_in_actions_as_the_seed_shows() -> None:
    actions = [
        instructions.format_state_banner("checkpoint_name", iteration=2, mode="re-verify"),
        "",
        "TASK: Fix identified issues",
        "",
        instructions.format_forbidden(
            [
                "Do not modify unrelated files",
                "Do not change API contracts",
            ]
        ),
        "",
        instructions.format_expected_output(
            [
                "All QR issues resolved",
                "Tests passing",
            ]
        ),
    ]

    found = tree(block_step.format_current_action(actions)).find("current_action")

    assert found is not None
    assert [child.tag for child in found] == ["state_banner", "forbidden", "expected_output"]
    assert found[0].attrib == {"checkpoint": "checkpoint_name", "iteration": "2", "mode": "re-verify"}
    assert [item.text for item in found[2]] == ["All QR issues resolved", "Tests passing"]


def test_a_sub_agent_is_dispatched_as_the_seed_shows() -> None:
    actions = [
        "Parallel exploration across dimensions:",
        "",
        dispatch.format_subagent_dispatch(
            agent=AgentRole.EXPLORE.value,
            script_path="/path/to/explore.py",
            step=1,
            total_steps=2,
            context_vars={"dimension": "naming"},
            free_form=False,  # Script mode - agent follows exact steps
        ),
    ]

    found = tree(block_step.format_current_action(actions)).find(".//subagent_dispatch")

    assert found is not None
    assert found.attrib == {"agent": "explore", "mode": "script"}
    assert found.findtext("invoke") == "python3 /path/to/explore.py --step 1 --total-steps 2"
    assert found.findtext("context/var") == "naming"


def test_the_banner_of_a_review_reads_as_the_seed_shows() -> None:
    banner = review.format_qr_banner(qr=QRState(iteration=1), qr_name="Plan Review")
    assert banner == "PLAN REVIEW: Review the work for issues."

    banner = review.format_qr_banner(
        qr=QRState(iteration=2, failed=True, status="fail"),
        qr_name="Plan Review",
        fresh_review=True,
    )
    assert banner == "PLAN REVIEW (Iteration 2, fresh review): Previous review found issues."


def test_a_banner_tells_a_round_that_is_not_fresh_and_one_that_passed() -> None:
    again = review.format_qr_banner(QRState(3), "Plan Review")
    passed = review.format_qr_banner(QRState(2, status="pass"), "Plan Review")

    assert again == "PLAN REVIEW (Iteration 3): Previous review found issues."
    assert passed == "PLAN REVIEW (Iteration 2): The review passed."


# --- what a block refuses, and what it leaves out


def test_an_agent_without_anything_to_run_must_be_free_form() -> None:
    with pytest.raises(ValueError, match="a script or a command"):
        dispatch.format_subagent_dispatch("explore")

    free = dispatch.format_subagent_dispatch("explore", "look.py", free_form=True)

    assert "invoke" not in {child.tag for child in tree(free)[0]}


def test_a_target_without_a_value_for_the_template_is_an_error() -> None:
    with pytest.raises(ValueError, match="no value for `where`"):
        dispatch.format_template_dispatch("explore", "Look in $where.", [{"what": "x"}])


def test_there_is_one_command_for_each_agent_or_none_at_all() -> None:
    with pytest.raises(ValueError, match="1 commands for 2 agents"):
        dispatch.format_roster_dispatch("explore", "", {"a": "", "b": ""}, commands=["x"])


@pytest.mark.parametrize(
    ("join", "until"),
    [
        ("all", "Go on when all of them have returned."),
        ("any", "Go on when one of them has returned a result."),
        ("at least 2", "Go on when at least 2 of them have returned a result."),
    ],
)
def test_many_agents_are_waited_for_as_their_join_says(join: str, until: str) -> None:
    assert until in dispatch.format_parallel_dispatch([LOOK] * 3, join)


def test_nothing_follows_the_last_step() -> None:
    made = block_step.format_step_output("plan.py", 6, 6, "Say so", ["Done."])

    assert [child.tag for child in tree(made)[0]] == ["step_header", "current_action"]
    assert block_step.format_invoke_after(None) == ""
    assert block_step.format_next_block(None) == ""


def test_the_command_is_said_twice_word_for_word() -> None:
    made = block_step.format_step_output("plan.py", 1, 6, "Read", [], FLAT)
    both = block_step.format_step_output("plan.py", 1, 6, "Read", [], BRANCH)

    assert made.count(FLAT.command) == 2
    assert both.count(BRANCH.if_pass) == both.count(BRANCH.if_fail) == 2


def test_a_text_without_a_brief_says_nothing_in_its_place() -> None:
    told = plain_text.format_text_output(1, 1, "Look", ["Look."])

    assert told == "Step 1 of 1: Look\n=================\n\nLook.\n\nThis is the last step."


# --- gates


def gate(qr: QRState, config: GateConfig = GATE, **parts: Any) -> ET.Element:
    return tree(review.format_gate_step("plan.py", 3, 6, "Gate", qr, config, **parts))[0]


@pytest.mark.parametrize("iteration", range(1, 8))
def test_a_failed_gate_has_all_three_pillars(iteration: int) -> None:
    found = gate(QRState(iteration, failed=True, status="fail"))
    following = "".join(found.find("invoke_after").itertext())  # type: ignore[union-attr]

    assert found.find("current_action/state_banner").get("iteration") == str(iteration)  # type: ignore[union-attr]
    assert found.find("current_action/forbidden") is not None
    assert f"--step 1 --total-steps 6 --qr-iteration {iteration + 1} --qr-fail" in following


@pytest.mark.parametrize(
    ("iteration", "severities"),
    [
        (1, "MUST, SHOULD, COULD"),
        (2, "MUST, SHOULD, COULD"),
        (3, "MUST, SHOULD"),
        (4, "MUST, SHOULD"),
        (5, "MUST"),
    ],
)
def test_a_failed_gate_names_the_severities_that_block_in_its_round(iteration: int, severities: str) -> None:
    actions = review.format_gate_actions(QRState(iteration, status="fail"), GATE)

    assert actions[1].startswith(f"Findings that block in round {iteration}: {severities}.")
    assert ("does not block" in actions[1]) == (iteration > 2)


def test_the_limit_and_the_policy_are_the_gate_s_own() -> None:
    strict = POLICIES["1-2 / 3 / 4+"]

    asked = gate(QRState(3, status="fail"), limit=3)
    told = review.format_gate_actions(QRState(4, status="fail"), GATE, policy=strict)

    assert asked.find("current_action/limit_question") is not None
    assert "round 4: MUST." in told[1]


@pytest.mark.parametrize(("iteration", "first"), [(5, ANOTHER), (6, ANOTHER), (7, MUST_ONLY)])
def test_another_round_is_offered_twice_at_most(iteration: int, first: str) -> None:
    question = gate(QRState(iteration, status="fail")).find("current_action/limit_question")

    assert question is not None
    labels = [option.get("label") for option in question.iterfind("option")]
    assert labels[0] == first
    assert labels[-2:] == [ACCEPT, STOP]


def test_a_gate_that_ends_the_procedure_has_no_command_when_it_passes() -> None:
    last = GateConfig("Plan Review", 1, self_fix=True)

    passed = gate(QRState(2, status="pass"), last)
    asked = gate(QRState(5, status="fail"), last)

    assert passed.find("invoke_after") is None
    assert "Plan Review: passed." in "".join(passed.itertext())
    assert (asked.findtext("invoke_after") or "").endswith("--qr-iteration 6 --qr-fail")
    assert "run nothing" in "".join(asked.itertext())


def test_a_gate_says_who_mends() -> None:
    oneself = review.format_gate_actions(
        QRState(1, status="fail"), GateConfig("Plan Review", 1, self_fix=True, fix_target=AgentRole.DEVELOPER)
    )
    another = review.format_gate_actions(QRState(1, status="fail"), GateConfig("Plan Review", 1))

    assert "In step 1 you mend them." in oneself
    assert another[2].startswith("In step 1 they are mended by an agent of the kind developer.")


def test_what_a_reviewer_returns_says_what_comes_next_and_leaves_the_findings_in_the_file() -> None:
    failed = tree(review.format_qr_file_output(passed=False, report_path="r.md", gate_command="g"))[0]
    passed = tree(review.format_qr_file_output(passed=True))[0]

    assert failed.attrib == {"status": "fail", "report": "r.md"}
    assert "run the gate now: g" in (failed.findtext("orchestrator_action") or "")
    assert passed.attrib == {"status": "pass"}
    assert "Stop here and run the gate step now." in (passed.findtext("orchestrator_action") or "")
