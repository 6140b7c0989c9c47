"""Guidance as XML, text and data: the same in all three, escaped, and as in the golden files."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import as_in_golden_file
from support.random_workflows import MODE, WORDS, facts_of, workflows
from support.workflows import step, workflow

from flowrail.errors import FlowError
from flowrail.formatters.guidance.step_output import report, state_report, xml
from flowrail.formatters.json_output import as_data
from flowrail.machines.guidance.agent_work import PENDING, AgentWork
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.session import Report, Session
from flowrail.machines.transition import advance, start
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.session_status import ACTIVE, COMPLETED
from flowrail.text.report import plain_text
from flowrail.text.safe_text import one_line, visible

ANY = st.text(st.characters(exclude_categories=[]), max_size=20)
LOOK = workflow(
    step(
        "look",
        title="Look <around> ($visit of $limit)",
        actions=["Search for “$topic” & write down what you find.", "  - indented\n  - <b>no markup</b>"],
        phase="evidence",
        limit=2,
        next={"ok": "write", "iterate": "look", "fail": None},
        reports={
            "confidence": Arg("How sure you are", choices=("low", "high"), required=True),
            "areas": Arg("Where you looked", type="list", example=["auth", "a b"]),
        },
        rules=[("ok", "confidence == 'high'"), ("fail", "'none' in areas"), ("iterate", None)],
    ),
    step("write", next={"ok": None, "fail": "look", "skip": None}, when="topic != 'nothing'"),
    name="a-skill",
    params={"topic": Arg(default="slow login"), "areas_wanted": Arg(type="list")},
)
NOON = "2026-01-02T12:00:00Z"


def _agent(number: int, status: str, moved_at: str = "") -> AgentWork:
    return AgentWork(f"a-skill-abc234.0.{number}", number=number, status=status, moved_at=moved_at)


BRIEFING = 'You are continuing. Parameters: topic=it\'s "here" & <now>, areas_wanted=a.'


DISPATCHES = (
    *(_agent(number, COMPLETED, NOON) for number in (1, 2)),
    _agent(3, ACTIVE, "2026-01-02T13:20:00Z"),
    _agent(4, PENDING),
    _agent(5, PENDING),
)


def started(**params: Any) -> Session:
    return start(LOOK, params, session_id="a-skill-abc234", now=NOON)


def guidance_resumed() -> Guidance:
    session = replace(
        started(topic='it\'s "here" & <now>', areas_wanted=["a"]), moved_at="2026-01-02T13:20:00Z"
    )
    guidance = guide(LOOK, session, head="0123456789abcdef", store="/a b", resumed=True, replayed=True)
    return replace(guidance, briefing=BRIEFING, dispatches=DISPATCHES)


def guidance_later() -> Guidance:
    low = advance(LOOK, started(), Report("done", {"confidence": "low", "areas": ["auth"]}), now=NOON)
    return guide(LOOK, advance(LOOK, low, Report("done", {"confidence": "high"}), now=NOON))


def guidance_ended(outcome: str) -> Guidance:
    high = advance(LOOK, started(), Report("done", {"confidence": "high"}), now=NOON)
    return guide(LOOK, advance(LOOK, high, Report(outcome), now=NOON))


GUIDANCE: dict[str, Callable[[], Guidance]] = {
    "first": lambda: guide(LOOK, started(), head="0123456789abcdef"),
    "resumed": guidance_resumed,
    "later": guidance_later,
    "completed": lambda: guidance_ended("ok"),
}
FORMS: dict[str, Callable[[Guidance], str]] = {
    "xml": xml,
    "txt": lambda guidance: plain_text(report(guidance)),
    "standing.txt": lambda guidance: plain_text(state_report(guidance)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GUIDANCE)
def test_guidance_looks_as_in_its_golden_file(name: str, form: str) -> None:
    assert as_in_golden_file(f"guidance/{name}.{form}", FORMS[form](GUIDANCE[name]()))


# --- the same in all three


@given(workflows(), MODE, st.data())
@settings(max_examples=25)
def test_all_forms_contain_the_same_transitions(
    definition: Workflow, params: dict[str, Any], draws: st.DataObject
) -> None:
    session = start(definition, params)
    for _ in range(3):
        guidance = guide(definition, session)
        data = json.loads(json.dumps(as_data(guidance), default=str))
        tree = ET.fromstring(xml(guidance))  # noqa: S314 - our own output
        text = FORMS["txt"](guidance)

        cases = tree.findall("next/case")
        assert [element.text for element in cases] == [transition["command"] for transition in data["next"]]
        assert [element.get("outcome") for element in cases] == [
            transition["outcome"] for transition in data["next"]
        ]
        wanted = dict.fromkeys(name for transition in data["next"] for name in transition["wants"])
        assert [element.get("name") for element in tree.findall("next/want")] == list(wanted)
        for transition in data["next"]:
            assert transition["command"] in text
            assert shlex.split(transition["command"])[:2] == ["flow", "step"]
        for case, transition in zip(cases, data["next"], strict=True):
            is_question_open = any(question["answer"] is None for question in data["questions"])
            decided_by = "what the user's answer decides" if is_question_open else "what flowrail decides"
            undecided = "the user decides" if transition["capped"] else decided_by
            target = transition["to"] or ("(end)" if transition["ends"] else undecided)
            assert case.get("to") == target
        current_step = definition.get(session.step)
        if current_step is None:
            break
        try:
            session = advance(
                definition, session, Report(draws.draw(WORDS), draws.draw(facts_of(current_step)))
            )
        except FlowError:
            continue


@given(st.lists(ANY, min_size=7, max_size=7))
def test_any_text_is_well_formed_and_visible_in_every_form(texts: list[str]) -> None:
    title, first, second, phase, topic, example, about = texts
    definition = workflow(
        step(
            title=lambda _: title,
            actions=lambda _: [first, second],
            phase=phase or None,
            reports={"fact": Arg(about, example=example), "kind": Arg(choices=("a", topic), required=True)},
        ),
        params={"topic": Arg()},
    )
    session = start(definition, {"topic": topic}, now=NOON)
    guidance = replace(guide(definition, session), briefing=f"Parameters: topic={one_line(topic)}.")

    tree = ET.fromstring(xml(guidance).encode())  # noqa: S314 - our own output

    action, header = tree.find("current_action"), tree.find("step_header")
    assert action is not None
    assert header is not None
    instructions = f"{visible(first)}\n\n{visible(second)}".strip("\n")
    assert (action.text or "").strip("\n") == instructions
    assert (header.text or "") == visible(title)
    assert header.get("phase") == (visible(phase) if phase else None)
    wants = {want.get("name"): want for want in tree.findall("next/want")}
    assert wants["fact"].get("example") == visible(example)
    assert (wants["fact"].text or "").endswith(visible(about))
    assert one_line(topic)[:60] in (tree.findtext("briefing") or "")
    for shown in (FORMS["txt"](guidance), FORMS["standing.txt"](guidance)):
        assert visible(shown) == shown


def test_a_fact_that_quotes_what_was_printed_before_stays_a_text() -> None:
    definition = workflow(
        step("look", next={"ok": "tell"}, reports={"found": Arg()}),
        step("tell", actions=["You found: $found"]),
    )
    session = start(definition, session_id="dull-abc234")
    printed = [xml(guide(definition, session))]

    for case in re.findall(r"<case.*?</case>|<ask_command.*?</ask_command>", "".join(printed)):
        later = guide(definition, advance(definition, session, Report("ok", {"found": case})))
        action = ET.fromstring(xml(later)).find("current_action")  # noqa: S314 - our own output

        assert action is not None
        assert action.text == f"\nYou found: {case}\n"
