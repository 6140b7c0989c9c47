"""Guidance: the text of a step, its transitions, and targets that are always correct."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.random_workflows import FACTS, MODE, workflows
from support.workflows import linear, step, workflow

from flowrail.cli.options import named_values
from flowrail.formatters.guidance.step_output import xml
from flowrail.machines.guidance.guide import guide
from flowrail.machines.guidance.offers import OfferedTransition
from flowrail.machines.reported_values import read_values
from flowrail.machines.session import ReceivedWork, Report, Session
from flowrail.machines.step import Rule, fact_args
from flowrail.machines.transition import advance, start
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.text.safe_text import visible

STEPS = 6


def wanted(transition: OfferedTransition) -> st.SearchStrategy[dict[str, Any]]:
    """Return values for the facts that a transition still wants."""
    must = {name: FACTS[name][1] for name, arg in transition.wants.items() if arg.required}
    may = {name: FACTS[name][1] for name, arg in transition.wants.items() if not arg.required}
    return st.fixed_dictionaries(must, optional=may)


def test_a_session_that_continues_at_the_limit_or_against_the_report_says_so() -> None:
    rules = [Rule("ok", when="left == 0"), Rule("iterate")]
    again = step(
        "look",
        next={"ok": "last", "iterate": "look"},
        limit=2,
        rules=rules,
        reports={"left": Arg(type="integer")},
    )
    definition = workflow(again, step("last"))

    first = advance(definition, start(definition, {}), Report("ok", {"left": 3}))
    last = advance(definition, first, Report("done", {"left": 3}))

    overruled = "Step `look` decides its outcome itself. It was `iterate`, not the reported `ok`."
    limited = "Step `look` ended in `iterate`, but has no attempts left. The session continues as after `ok`."
    assert (guide(definition, first).decided, guide(definition, last).decided) == (overruled, limited)
    assert limited in xml(guide(definition, last))


# --- guidance is true


@given(workflows(), MODE, st.data())
def test_every_way_offered_is_open_and_leads_where_it_says(
    definition: Workflow, params: dict[str, Any], data: st.DataObject
) -> None:
    session = start(definition, params)
    for _ in range(STEPS):
        guidance = guide(definition, session)
        if not guidance.next:
            break
        reached: list[Session] = []
        for transition in guidance.next:
            report = Report(transition.outcome, {**transition.facts, **data.draw(wanted(transition))})
            after = advance(definition, session, report)
            if after.status == "waiting":  # the limit asks the user
                assert (transition.to, transition.ends) == (None, False)
                continue
            assert after.last is not None
            if transition.to is not None or transition.ends:
                assert (transition.to, transition.ends) == (after.step, not after.is_open)
                assert transition.capped == after.last.capped
            reached.append(after)
        if not reached:
            break
        session = data.draw(st.sampled_from(reached))


CHOICES = st.one_of(
    st.lists(st.text(max_size=8), min_size=1, max_size=3, unique=True),
    st.lists(
        st.sampled_from(["a b", "it's", "$HOME", "`x`", "-s", "--", "a=b", "", "#", "\\", "\n", "\u3164"]),
        min_size=1,
    ),
    st.lists(st.integers(-99, 99), min_size=1, max_size=3, unique=True),
    st.lists(st.floats(-9, 9), min_size=1, max_size=3, unique=True),
    st.just([True, False]),
)


@given(CHOICES)
def test_every_command_is_one_line_that_reads_back_as_what_it_reports(choices: list[Any]) -> None:
    fact = Arg(choices=tuple(choices), required=True)
    definition = workflow(step("a", next={"ok": "b"}, reports={"fact": fact}), step("b"))
    session = start(definition, session_id="dull-abc234")

    for transition in guide(definition, session, store="/a b/$x").next:
        line = str(transition.command)
        assert line.startswith("flow step dull ok ")
        assert len(line.splitlines()) == 1
        assert visible(line) == line
        words = shlex.split(line)
        given_facts = [
            words[at + 1] for at, word in enumerate(words[:-6]) if word == "-s" and at > 3 and at % 2 == 0
        ]
        assert words[-6:] == ["--session", "dull-abc234", "--expect", "0", "--store", "/a b/$x"]
        facts = read_values(named_values(given_facts, "-s"), fact_args(definition.step("a")))
        assert facts == transition.facts
        if not transition.wants:
            assert advance(definition, session, Report(transition.outcome, facts)).step == "b"


# --- the step as it reads


def test_work_that_was_handed_over_is_told_in_lines_of_ours_and_not_without_end() -> None:
    payload = "p\nRun it\u2028now" + "y" * 9_999
    received = ReceivedWork("h", source="a\nb", payload=payload, sha256="", chain=("x",) * 9_999)

    first, second, *_ = guide(linear("a"), replace(start(linear("a")), received=received)).actions

    assert "Read its payload first: p?Run it?now" in first
    assert len(first) < 5_000
    assert second.endswith("its hash was checked.")
