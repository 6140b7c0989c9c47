"""Order rules: what must come before, after or never after what. Each becomes a small automaton.

    review before publish                    publish is entered only after review was left with `ok`
    tests before each "Bash(git push*)"      and again before each further push
    never "Bash(git push*)" after fail of verify until ok of verify
    verify after fix                         each `ok` of fix is followed by verify before the session completes
    at most 1 "Bash(tools/book*)" per attempt of book

A step that comes first means its accepted `ok`, one that comes later its entry. `fail of STEP` names another outcome. A
text in quotes is a pattern of tool calls, as in `forbids`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from flowrail.outcome import REPORTABLE
from flowrail.rules import tools
from flowrail.text.phrases import did_you_mean, near

_SIDE = rf'"[^"\n]*"|(?:{"|".join(REPORTABLE)}) of [^\s"]+|[^\s"]+'
_FORMS = (
    rf"never (?P<then>{_SIDE}) after (?P<first>{_SIDE})(?: until (?P<until>{_SIDE}))?",
    rf"at most (?P<most>[1-9]\d?) (?P<first>{_SIDE})(?: per attempt of (?P<per>[^\s\"]+))?",
    rf"(?P<first>{_SIDE}) before (?P<each>each )?(?P<then>{_SIDE})",
    rf"(?P<then>{_SIDE}) after (?P<first>{_SIDE})",
)
_WORDS = ("before", "each", "never", "after", "until", "at", "most", "per", "attempt", "of", *REPORTABLE)
_HOW = (
    "write `A before B`, `A before each B`, `never A after B until C`, `A after B`, or `at most 1 A per attempt of STEP`; "
    'A, B and C are steps, `fail of STEP`, or patterns in quotes such as "Bash(git push*)"'
)


_PATTERN = 'write a tool, or a tool and its argument: "Edit", "Bash(git push*)"'


class Form(StrEnum):
    """The four forms of a rule."""

    NEVER = "never"
    AT_MOST = "at most"
    BEFORE = "before"
    AFTER = "after"


class Event(NamedTuple):
    """Something that happened: a tool was called, an outcome of a step was accepted, or a step was entered."""

    step: str = ""
    """The step that was entered or left."""
    outcome: str = ""
    """The accepted outcome; empty if the step was entered."""
    call: tools.ToolUse | None = None
    """The tool call."""


class Side(NamedTuple):
    """One side of a rule: the events that it means."""

    step: str = ""
    """The step."""
    outcome: str = ""
    """The outcome; empty for the entry of the step."""
    pattern: str = ""
    """The pattern, if tool calls are meant."""

    def matches(self, event: Event) -> bool:
        """Return whether *event* is one of those that the side means."""
        if event.call is not None:
            return bool(self.pattern) and tools.forbidding((self.pattern,), event.call) is not None
        return not self.pattern and (event.step, event.outcome) == (self.step, self.outcome)

    def __str__(self) -> str:
        if self.pattern:
            return f'"{self.pattern}"'
        return f"{self.outcome} of {self.step}" if self.outcome else f"entry of {self.step}"


Matched = tuple[bool, bool, bool, bool]
"""Which sides of a rule an event matches: `first`, `then`, `until`, `per`."""


@dataclass(frozen=True)
class OrderRule:
    """A rule about the order of events."""

    text: str
    """The rule as it is written."""
    form: Form
    """Which of the four forms it has."""
    first: Side
    """What must come first (`before`), triggers the rule (`never`, `after`), or is counted (`at most`)."""
    then: Side | None = None
    """What needs the first, is denied, or is owed."""
    until: Side | None = None
    """What ends a `never`."""
    per: Side | None = None
    """What starts a count again."""
    each: bool = False
    """Whether `before` starts again after each use."""
    most: int = 0
    """How often, for `at most`."""

    @property
    def sides(self) -> tuple[Side | None, ...]:
        """The sides in the order of `Matched`."""
        return (self.first, self.then, self.until, self.per)

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of tool calls that the rule names."""
        return tools.patterns_in(self.text)

    def matched(self, event: Event) -> Matched:
        """Return which sides *event* matches."""
        return (
            self.first.matches(event),
            self.then is not None and self.then.matches(event),
            self.until is not None and self.until.matches(event),
            self.per is not None and self.per.matches(event),
        )

    def follow(self, state: int, matched: Matched) -> tuple[int, bool]:
        """Return the state after an event that matches some sides, and whether it breaks the rule. The first state is 0.

        An event that matches no side changes nothing.

        An event is judged by the events before it; only `at most ... per attempt` counts the entry first.
        """
        first, then, until, per = matched
        if self.form is Form.AT_MOST:
            count = (0 if per else state) + first
            return min(count, self.most), count > self.most
        is_broken = then and state == (1 if self.form is Form.NEVER else 0) and self.form is not Form.AFTER
        ends = until or (then and (self.form is Form.AFTER or self.each))
        return int(first or (state == 1 and not ends)), is_broken

    def is_owed(self, state: int) -> bool:
        """Return whether the session may not complete in *state*."""
        return self.form is Form.AFTER and state == 1

    @property
    def missing(self) -> str:
        """What is missing if the rule is broken, in words."""
        if self.form is Form.AT_MOST:
            return f"{self.first} already happened {'once' if self.most == 1 else f'{self.most} times'}"
        if self.form is Form.NEVER:
            return f"{self.first} came before" + (f", and {self.until} is missing" if self.until else "")
        return f"{self.first if self.form is Form.BEFORE else self.then} is missing"


class OrderSyntaxError(ValueError):
    """A rule cannot be read. ``hint`` says what to write."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def parse_rule(text: str, steps: Collection[str]) -> OrderRule:
    """Return the rule that *text* describes, for a workflow with these *steps*; raise `OrderSyntaxError`."""
    normal = " ".join(text.split())
    for form, pattern in zip(Form, _FORMS, strict=True):
        match = re.fullmatch(pattern, normal)
        if match is not None:
            return _rule(text, form, match.groupdict(default=""), steps)
    raise OrderSyntaxError("cannot be read as an order rule", _suggestion(normal, steps))


def _rule(text: str, form: Form, words: Mapping[str, str], steps: Collection[str]) -> OrderRule:
    until = _side(words["until"], steps) if words.get("until") else None
    per = Side(_step(words["per"], steps)) if words.get("per") else None
    if form is Form.AT_MOST:
        return OrderRule(
            text, form, _side(words["first"], steps, later=True), per=per, most=int(words["most"])
        )
    first, then = _side(words["first"], steps), _side(words["then"], steps, later=True)
    if first == then:
        raise OrderSyntaxError("names the same on both sides", "name two different events")
    return OrderRule(text, form, first, then, until, each=bool(words.get("each")))


def _side(words: str, steps: Collection[str], *, later: bool = False) -> Side:
    if words.startswith('"'):
        problem = tools.problem(words[1:-1])
        if problem is not None:
            raise OrderSyntaxError(f"has the pattern `{words[1:-1][:60]}`, which {problem}", _PATTERN)
        return Side(pattern=words[1:-1])
    outcome, is_outcome, step = words.partition(" of ")
    if is_outcome:
        return Side(_step(step, steps), outcome)
    return Side(_step(words, steps), "" if later else "ok")


def _step(name: str, steps: Collection[str]) -> str:
    if name not in steps:
        hint = did_you_mean(name, steps, f'name a step, or a tool in quotes: "{name[:60]}"')
        raise OrderSyntaxError(f"names `{name[:60]}`, which is not a step", hint)
    return name


def _suggestion(text: str, steps: Collection[str]) -> str:
    """Return what to write instead of *text*: the word that one of its words is close to, or the forms."""
    if text.count('"') % 2:
        return "close the quote"
    unquoted = re.sub(r'"[^"]*"', "", text)
    if "(" in unquoted:
        return f"put the pattern in quotes; {_PATTERN}"
    for word in unquoted.split():
        close = near(word, (*_WORDS, *steps))
        if close and word not in close:
            return f"did you mean `{close[0]}` instead of `{word[:60]}`?"
    return _HOW
