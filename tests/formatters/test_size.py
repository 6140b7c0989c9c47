"""What surrounds an author's text is small, and the same guidance is the same bytes."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflows import NOW, fan, found, report, review_loop, step, workflow

from flowrail import Arg
from flowrail.command import Command
from flowrail.formatters.guidance import as_text, as_xml
from flowrail.machines.engine.advance import start
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.sessions.session import ParentSession

MOST, MOST_AT_REVIEWS = 600, 900
TEXT = "The author's text. " * 40
STORE = "/home/somebody/projects/a-project-of-some-size/.flow"


def surrounding(told: Guidance) -> int:
    """Return how many bytes of the XML are not the author's."""
    shown = as_xml.render(told)
    own = told.step.title if told.step else ""
    assert TEXT in shown
    return len(shown.encode()) - len(TEXT) - len(own)


def two_ways(**parts: Any) -> Guidance:
    """Return the guidance of a step with two transitions and all attributes."""
    given: dict[str, Any] = {"next": {"ok": "formulate", "iterate": "investigate"}, "limit": 5, **parts}
    flow = workflow(
        step("investigate", actions=[TEXT], phase="exploration", title="Investigate the hypotheses", **given),
        step("formulate"),
        name="problem-analysis",
    )
    session = start(flow, session_id="problem-analysis-k3x9q2", source="bundled", now=NOW)
    return guide(flow, session, head="0123456789abcdef", place=STORE)


def test_what_surrounds_a_step_is_small_also_if_a_fact_decides() -> None:
    decided = two_ways(
        limit=None,
        reports={"traced": Arg(choices=("no", "yes"), required=True)},
        rules=[("ok", "traced == 'yes'"), ("iterate", None)],
    )

    assert [case.facts for case in decided.next] == [{"traced": "no"}, {"traced": "yes"}]
    assert surrounding(two_ways()) <= MOST
    assert surrounding(decided) <= MOST


def test_what_surrounds_a_gate_and_the_work_that_it_sent_back_is_small() -> None:
    flow = review_loop()
    at_gate = report(flow, found(flow, report(flow, start(flow, now=NOW), "ok"), "MUST"), "ok")
    sent_back = report(flow, at_gate, "done")

    for session in (at_gate, sent_back, report(flow, sent_back, "ok")):
        told = guide(flow, session._replace(id="planner-k3x9q2"), place=STORE)
        own = sum(map(len, told.actions)) + len(told.step.title if told.step else "")
        record = sum(len(each.text) for each in told.findings)
        assert len(as_xml.render(told).encode()) - own - record <= MOST_AT_REVIEWS, as_xml.render(told)


def test_an_agent_of_another_reads_how_to_ask_once() -> None:
    told = two_ways()._replace(
        parent=ParentSession("x", "d0-1"), ask_command=Command("ask", "x", "-", store=STORE)
    )

    first, later = surrounding(told), surrounding(told._replace(revision=1))

    assert first > 2 * MOST
    assert later <= MOST


@pytest.mark.parametrize("render", [as_xml.render, as_text.render], ids=["xml", "text"])
def test_no_moment_and_no_hash_stands_before_the_text(render: Any) -> None:
    told = two_ways()

    shown = render(told)

    assert "2026" not in shown
    assert told.head not in shown
    assert shown == render(told._replace(head="fedcba9876543210", started_at="2027-01-01"))


def test_what_changes_while_agents_work_stands_behind_the_text() -> None:
    flow = fan()
    session = start(flow, session_id="dull-abc234", now=NOW)
    changed = session.dispatches[0]._replace(status="claimed", holder="ann", expires_at=NOW, token="t")
    later = session._replace(dispatches=(changed, *session.dispatches[1:]))

    before, after = (as_xml.render(guide(flow, each, place=STORE)) for each in (session, later))

    at = next(n for n, (one, two) in enumerate(zip(before, after, strict=False)) if one != two)
    assert before[:at].count("</current_action>") == 1
    assert NOW in after
