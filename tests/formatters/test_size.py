"""The output around an author's text is small, and the same guidance gives the same bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.workflows import NOW, ended, fan, step, workflow

from flowrail import Arg
from flowrail.formatters.guidance import step_output
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.transition import NOTHING, start
from flowrail.text.report import plain_text

MOST, MOST_AT_REVIEWS = 600, 900
TEXT = "The author's text. " * 40
STORE = "/home/somebody/projects/a-project-of-some-size/.flow"


def surrounding_bytes(guidance: Guidance) -> int:
    """Return how many bytes of the XML are not the author's."""
    shown = step_output.xml(guidance)
    title = guidance.step.title if guidance.step else ""
    assert TEXT in shown
    return len(shown.encode()) - len(TEXT) - len(title)


def two_transitions(**parts: Any) -> Guidance:
    """Return the guidance of a step with two transitions and all attributes."""
    options: dict[str, Any] = {"next": {"ok": "formulate", "iterate": "investigate"}, "limit": 5, **parts}
    definition = workflow(
        step(
            "investigate", actions=[TEXT], phase="exploration", title="Investigate the hypotheses", **options
        ),
        step("formulate"),
        name="problem-analysis",
    )
    session = start(definition, session_id="problem-analysis-k3x9q2", now=NOW)
    return guide(definition, session, head="0123456789abcdef", place=STORE)


def test_what_surrounds_a_step_is_small_also_if_a_fact_decides() -> None:
    decided = two_transitions(
        limit=None,
        reports={"traced": Arg(choices=("no", "yes"), required=True)},
        rules=[("ok", "traced == 'yes'"), ("iterate", None)],
    )

    assert [case.facts for case in decided.next] == [{"traced": "no"}, {"traced": "yes"}]
    assert surrounding_bytes(two_transitions()) <= MOST
    assert surrounding_bytes(decided) <= MOST


@pytest.mark.parametrize(
    "render",
    [step_output.xml, lambda guidance: plain_text(step_output.report(guidance))],
    ids=["xml", "text"],
)
def test_no_time_and_no_hash_is_printed(render: Any) -> None:
    guidance = two_transitions()

    shown = render(guidance)

    assert "2026" not in shown
    assert guidance.head not in shown
    assert shown == render(replace(guidance, head="fedcba9876543210", started_at="2027-01-01"))


def test_what_changes_while_agents_work_is_after_the_text() -> None:
    flow = fan()
    session = start(flow, session_id="dull-abc234", now=NOW)
    started = ended(session, "ok")

    before, after = (
        step_output.xml(guide(flow, session, place=STORE, children=children))
        for children in (NOTHING, started)
    )

    difference = next(n for n, (left, right) in enumerate(zip(before, after, strict=False)) if left != right)
    assert before[:difference].count("</current_action>") == 1
    assert 'status="completed"' in after
