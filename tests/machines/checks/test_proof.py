"""Proofs of order rules: verdicts and shortest paths, compared with exhaustive walks and with runs of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.loop_model import reached_from
from support.order_reference import FORMS, breaks, call, entry, is_owed, report
from support.random_workflows import CONDITIONS, MODE, MODES, WORDS, facts_of, workflows
from support.workflows import linear, step, unchecked, workflow, yes_no

from flowrail.errors import FlowError
from flowrail.machines.checks.check import check
from flowrail.machines.checks.proof import END, MOST_CONDITIONS, Proof, ProofVerdict, proofs
from flowrail.machines.session import Report
from flowrail.machines.transition import advance, start
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.rules.order_rule import Event, OrderRule

PUSH, TEST = "Bash(git push*)", "Bash(pytest*)"
LINES = {PUSH: "git push", TEST: "pytest -q"}
MOST_MOVES = 5


def proof(rule: str, *steps: Any, **parts: Any) -> Proof:
    [found] = proofs(workflow(*steps, order=[rule], **parts))
    return found


def verdict(rule: str, *steps: Any, **parts: Any) -> tuple[str, str]:
    found = proof(rule, *steps, **parts)
    return str(found.verdict), " -> ".join(found.path)


REVIEWED = (
    step("write", next={"ok": "review"}),
    step("review", next={"ok": "publish", "fail": "write", "skip": "publish"}),
    step("publish"),
)


def test_a_rule_that_every_path_keeps_is_proved() -> None:
    assert verdict("write before publish", *REVIEWED) == ("proved", "")
    assert verdict("review after write", *REVIEWED) == ("proved", "")


def test_the_shortest_path_that_breaks_a_rule_is_shown() -> None:
    shown = "write (ok) -> review (skip) -> publish"

    assert verdict("review before publish", *REVIEWED) == ("broken", shown)
    assert verdict("at most 1 write", *REVIEWED) == ("broken", "write (ok) -> review (fail) -> write")
    owed = f"write (ok) -> review (ok) -> publish (ok) -> {END}"
    assert verdict("fail of review after write", *REVIEWED) == ("broken", owed)


def test_a_broken_rule_is_an_error_of_flow_check() -> None:
    made = workflow(*REVIEWED, order=["review before publish"])

    [finding] = [each for each in check(made, advice=True) if each.code == "FR187"]

    assert finding.severity == "error"
    assert "write (ok) -> review (skip) -> publish" in finding.message
    assert str(finding.place) == "order.0"


def test_a_rule_about_calls_is_proved_if_guards_and_forbids_leave_no_way() -> None:
    rule = f'never "{PUSH}" after fail of review until ok of review'

    assert verdict(rule, *REVIEWED) == (
        "watched at run time only",
        f'write (ok) -> review (fail) -> "{PUSH}" at write',
    )
    no_skip = (REVIEWED[0], replace(REVIEWED[1], next={"ok": "publish", "fail": "write"}), REVIEWED[2])
    assert verdict(rule, *no_skip, guards={PUSH: ["publish"]}) == ("proved", "")


def test_an_answer_at_a_limit_of_one_may_lead_back() -> None:
    asks = step("ask", questions=(yes_no(),), limit=1, next={"ok": "last", "fail": "ask"})

    assert verdict("at most 1 ask", asks, step("last")) == ("broken", "ask (fail) -> ask")


def test_more_conditions_than_can_be_tried_are_not_decided() -> None:
    names = [f"p{number}" for number in range(MOST_CONDITIONS + 1)]
    conditional = [
        step(f"s{name}", when=f"{name} == 1", next={"ok": following})
        for name, following in zip(names, [*(f"s{name}" for name in names[1:]), None], strict=True)
    ]
    params = {name: Arg(type="integer", default=0) for name in names}

    assert (
        verdict("at most 1 first", step("first", next={"ok": "sp0"}), *conditional, params=params)[0]
        == "not decided"
    )


# --- compared with exhaustive walks


@dataclass(frozen=True)
class Walk:
    """A walk: where it is, what has happened, and in how many words."""

    step: str | None
    events: tuple[Event, ...]
    words: int = 0
    is_completed: bool = False


class Walker:
    """A workflow as its author wrote it, in which everything may happen that the abstraction of the proof allows."""

    def __init__(self, definition: Workflow, rule: OrderRule, params: Mapping[str, Any]) -> None:
        self.definition = definition
        self.rule = rule
        self.params = params
        self.steps = {each.id: each for each in definition.steps}
        self.table = {each.id: {str(key): to for key, to in each.next.items()} for each in definition.steps}

    def shortest_break(self) -> int | None:
        """Return the fewest words of a walk that breaks the rule, or `None` if none of the short ones does."""
        first = self.definition.steps[0].id
        walks = [Walk(first, (entry(first),), 1)]
        if breaks(self.rule, walks[0].events, 0):
            return 1
        walks = [replace(walks[0], words=0)]
        for _ in range(MOST_MOVES):
            found = [
                broken for walk in walks for after in self.after(walk) if (broken := self.broken(walk, after))
            ]
            if found:
                return min(found)
            walks = [after for walk in walks for after in self.after(walk) if after.step is not None]
        return None

    def broken(self, before: Walk, after: Walk) -> int:
        """Return the number of words with which *after* breaks the rule; 0 if it does not."""
        for position in range(len(before.events), len(after.events)):
            if breaks(self.rule, after.events, position):
                is_entry = after.events[position].call is None and not after.events[position].outcome
                return after.words + is_entry
        return after.words + 1 if after.is_completed and is_owed(self.rule, after.events) else 0

    def after(self, walk: Walk) -> Iterator[Walk]:
        """Yield what can happen next."""
        here = self.steps[str(walk.step)]
        for pattern, line in LINES.items():
            guarded = pattern in self.definition.guards and here.id not in self.definition.guards[pattern]
            if pattern in self.rule.patterns and not guarded and pattern not in here.forbids:
                yield Walk(here.id, (*walk.events, call(line)), walk.words + 1)
        for outcome, target, is_fail in self.exits(here.id):
            left = (*walk.events, report(here.id, outcome))
            for to in self.landings(target, frozenset()):
                fails = is_fail and to is None and target is None
                entered = () if to is None else (entry(to),)
                yield Walk(to, (*left, *entered), walk.words + 1, to is None and not fails)

    def exits(self, name: str) -> Iterator[tuple[str, str | None, bool]]:
        """Yield outcome, target, and whether the outcome is a failure."""
        here = self.steps[name]
        for outcome in self.decided(name):
            target = self.target(name, outcome)
            is_limited = here.limit is not None and name in reached_from(self.table, target)
            if not (is_limited and outcome == "iterate" and here.limit == 1):
                yield outcome, target, outcome == "fail"
            if is_limited and outcome in {"iterate", "fail"} and self.names(name, "ok"):
                yield "ok", self.target(name, "ok"), False

    def decided(self, name: str) -> list[str]:
        here = self.steps[name]
        if not here.rules:
            return [outcome for outcome in ("ok", "fail", "skip", "iterate") if self.names(name, outcome)]
        decided = []
        for rule in here.rules:
            holds = True if rule.when is None else self.fixed(rule.when)
            decided += [] if holds is False else [rule.outcome]
            if holds:
                break
        return decided

    def landings(self, target: str | None, false: frozenset[str]) -> Iterator[str | None]:
        """Yield where a transition can arrive. A condition that was false on the way stays false."""
        when = self.steps[target].when if target is not None else None
        holds = True if when is None else self.fixed(str(when))
        if holds is not False and when not in false:
            yield target
        if holds is not True and target is not None:
            over = "skip" if "skip" in self.table[target] else "ok"
            stays = () if "visit" in str(when) else (str(when),)
            yield from self.landings(self.target(target, over), false.union(stays))

    def fixed(self, condition: str) -> bool | None:
        """Return whether a condition holds if it is over parameters alone, otherwise `None`: it may."""
        is_fixed = "mode" in condition and "confidence" not in condition
        return (
            CONDITIONS[condition]({"mode": "full", **self.params}) if is_fixed else self.constant(condition)
        )

    @staticmethod
    def constant(condition: str) -> bool | None:
        return {"true": True, "false": False}.get(condition)

    def names(self, name: str, outcome: str) -> bool:
        return outcome in self.table[name] or "_default" in self.table[name]

    def target(self, name: str, outcome: str) -> str | None:
        ways = self.table[name]
        return ways[outcome] if outcome in ways else ways["_default"]


@st.composite
def ruled_workflows(draw: st.DrawFn) -> Workflow:
    """Return a random workflow with one order rule, guards and forbids."""
    drawn = draw(workflows(functions=False, most=3))
    ids = [each.id for each in drawn.steps]
    patterns = st.sampled_from([f'"{pattern}"' for pattern in LINES])
    sides = st.sampled_from(ids) | st.sampled_from(
        [f"{word} of {name}" for name in ids for word in ("ok", "fail")]
    )
    named = {name: draw(sides | sides | patterns) for name in "abc"}
    rule = draw(st.sampled_from(FORMS)).format(
        **named, n=draw(st.integers(1, 2)), step=draw(st.sampled_from(ids))
    )
    steps = [replace(each, forbids=draw(st.sampled_from([(), (), (PUSH,)]))) for each in drawn.steps]
    guards = draw(
        st.dictionaries(st.sampled_from(list(LINES)), st.sets(st.sampled_from(ids)).map(sorted), max_size=1)
    )
    made = unchecked(*steps, params=drawn.params, order=[rule], guards=guards)
    assume(made.order_rules)
    return made


def agrees(definition: Workflow) -> None:
    """Compare the proof with all short walks, for each value of the parameter."""
    [rule], [found] = definition.order_rules, proofs(definition)
    lengths = [Walker(definition, rule, {"mode": mode}).shortest_break() for mode in MODES]
    shortest = min((length for length in lengths if length is not None), default=None)

    if shortest is None:
        assert not found.path or len(found.path) > MOST_MOVES
    else:
        assert shortest <= len(found.path) <= shortest + 1  # the last word may be an entry or the end
        assert found.verdict in {ProofVerdict.BROKEN, ProofVerdict.WATCHED}


@given(ruled_workflows())
@settings(max_examples=60)
def test_the_proof_agrees_with_exhaustive_walks(definition: Workflow) -> None:
    agrees(definition)


@pytest.mark.long
@given(ruled_workflows())
@settings(max_examples=2_000, deadline=None)
def test_the_proof_agrees_with_exhaustive_walks_of_many_workflows(definition: Workflow) -> None:
    agrees(definition)


@given(ruled_workflows(), MODE, st.data())
@settings(max_examples=60)
def test_no_run_of_the_engine_breaks_a_rule_that_is_proved(
    definition: Workflow, params: Mapping[str, Any], data: st.DataObject
) -> None:
    [found] = proofs(definition)
    assume(found.verdict is ProofVerdict.PROVED)
    runnable = workflow(*definition.steps, params=definition.params)
    session = start(runnable, params)
    [rule] = definition.order_rules
    state, is_broken = rule.follow(0, rule.matched(Event(str(session.step))))
    for _ in range(8):
        facts = data.draw(facts_of(definition.step(str(session.step))))
        try:
            session = advance(runnable, session, Report(data.draw(WORDS), facts))
        except FlowError:
            continue
        if not session.is_open or session.questions:
            break
        assert session.last is not None
        effective = "ok" if session.last.capped else session.last.outcome
        for event in (Event(session.last.step, effective), Event(str(session.step))):
            state, is_broken = rule.follow(state, rule.matched(event))
            assert not is_broken
    assert not (session.status == "completed" and rule.is_owed(state))


def test_a_long_workflow_is_proved() -> None:
    names = [f"s{number}" for number in range(2_000)]
    made = linear(*names)

    [found] = proofs(workflow(*made.steps, order=["s0 before s1999"]))

    assert found.verdict is ProofVerdict.PROVED
