"""Order rules: what they mean, compared with a naive check over all prefixes."""

from __future__ import annotations

import random

import pytest
from support.order_reference import FORMS, breaks, call, entry, is_owed, report

from flowrail.rules.order_rule import Event, OrderRule, OrderSyntaxError, parse_rule

STEPS = ("review", "fix", "verify", "publish")
CALLS = ("git push", "git status", "tools/book 3")
PATTERNS = ('"Bash(git push*)"', '"Bash(tools/book*)"')
ATOMS = (*STEPS, *(f"{outcome} of {step}" for outcome in ("ok", "fail") for step in STEPS), *PATTERNS)


def broken(text: str, *events: Event) -> list[int]:
    """Return the positions of the events that break a rule; the number of events if something is owed at the end."""
    rule, state = parse_rule(text, STEPS), 0
    positions = []
    for position, event in enumerate(events):
        state, is_broken = rule.follow(state, rule.matched(event))
        positions += [position] * is_broken
    return [*positions, *([len(events)] if rule.is_owed(state) else [])]


def test_a_step_must_succeed_before_a_later_one_is_entered() -> None:
    assert broken("review before publish", entry("review"), entry("publish")) == [1]
    assert broken("review before publish", report("review", "fail"), entry("publish")) == [1]
    assert broken("review before publish", report("review", "ok"), entry("publish"), entry("publish")) == []


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("", "cannot be read as an order rule", "write `A before B`"),
        ("revew before publish", "names `revew`, which is not a step", "did you mean `review`?"),
        ("review befor publish", "cannot be read as an order rule", "did you mean `before`"),
        ("ok of review before ok of review", "names the same on both sides", "name two different events"),
        ("never publish", "cannot be read as an order rule", "write `A before B`"),
        ("at most many publish", "cannot be read as an order rule", "at most 1 A per attempt"),
        ('"Bash(" before publish', "has the pattern `Bash(`, which is not a rule", "write a tool"),
        (
            '"Bash(flow *)" before publish',
            "has the pattern `Bash(flow *)`, which names commands of flow",
            "a tool",
        ),
        ('"Bash(git push*) before publish', "cannot be read as an order rule", "close the quote"),
        ("review before publish now", "cannot be read as an order rule", "write `A before B`"),
        ("Bash(git push*) before publish", "cannot be read as an order rule", "put the pattern in quotes"),
        ("Edit before publish", "names `Edit`, which is not a step", 'a tool in quotes: "Edit"'),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(text: str, problem: str, hint: str) -> None:
    with pytest.raises(OrderSyntaxError) as caught:
        parse_rule(text, STEPS)

    assert str(caught.value).startswith(problem)
    assert hint in caught.value.hint


def test_the_rules_agree_with_a_naive_check_over_all_prefixes() -> None:
    drawn = random.Random(7)  # noqa: S311 - the same traces each time
    for _ in range(1_500):
        rule = _drawn_rule(drawn)
        events = [_drawn_event(drawn) for _ in range(drawn.randint(0, 9))]

        assert broken(rule.text, *events) == _naive(rule, events), (rule.text, events)


@pytest.mark.long
def test_the_rules_agree_with_a_naive_check_on_many_traces() -> None:
    drawn = random.Random()  # noqa: S311 - other traces each time
    for _ in range(100_000):
        rule = _drawn_rule(drawn)
        events = [_drawn_event(drawn) for _ in range(drawn.randint(0, 12))]

        assert broken(rule.text, *events) == _naive(rule, events), (rule.text, events)


def _drawn_rule(drawn: random.Random) -> OrderRule:
    while True:
        named = {name: drawn.choice(ATOMS) for name in "abc"}
        text = drawn.choice(FORMS).format(**named, n=drawn.randint(1, 3), step=drawn.choice(STEPS))
        try:
            return parse_rule(text, STEPS)
        except OrderSyntaxError:
            continue


def _drawn_event(drawn: random.Random) -> Event:
    kind = drawn.choice(("entry", "report", "call"))
    if kind == "call":
        return call(drawn.choice(CALLS))
    step = drawn.choice(STEPS)
    return entry(step) if kind == "entry" else report(step, drawn.choice(("ok", "fail")))


def _naive(rule: OrderRule, events: list[Event]) -> list[int]:
    """Return where a rule is broken, by its meaning."""
    found = [position for position in range(len(events)) if breaks(rule, events, position)]
    return [*found, *([len(events)] if is_owed(rule, events) else [])]
