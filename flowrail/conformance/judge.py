"""Judge one run of an agent: which guards and order rules of a workflow its tool calls kept.

If the run used `flow`, its sessions say which steps were entered and left. Otherwise a step is recognised by its
commands, by the files that its evidence demands, or by a guard that names it alone. What is not recognised is unknown.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from flowrail.conformance.transcripts import Call
from flowrail.machines.outcome import Outcome
from flowrail.machines.statechart import transitions
from flowrail.machines.workflow import Workflow
from flowrail.rules.order_rule import OUTCOMES, Event, Form, OrderRule, Side
from flowrail.rules.tools import SHELLS, forbidding

_SESSION = re.compile(r'<step_output session="([^"]+)" revision="(\d+)" skill="([^"]+)" status="([^"]+)"')
_STEP = re.compile(r'<step_header id="([^"]+)"')
_FLOW_TOOL = re.compile(r"mcp__(?:plugin_)?flow(?:rail)?(?:_flow(?:rail)?)?__")


class RunVerdict(StrEnum):
    """Whether a run kept a rule."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class JudgedRule:
    """What one run did with one rule."""

    rule: str
    """The order rule, or the guard with its steps."""
    verdict: RunVerdict
    """Whether the run kept it."""
    file: str = ""
    """The transcript with the first deviation."""
    line: int = 0
    """The line of the first deviation."""
    reason: str = ""
    """What was missing, or why the verdict is unknown."""


@dataclass
class _Rule:
    """An order rule, or a guard, during a run."""

    name: str
    rule: OrderRule | None = None
    guard: str = ""
    steps: tuple[str, ...] = ()
    broken: tuple[str, int, str] | None = None
    seen: bool = False
    """Whether something happened that the rule is about."""
    doubt: str = ""
    """Why the verdict about a guard is unknown."""


@dataclass
class _Session:
    """A session of the workflow, or the calls outside of any, with the states of the order rules."""

    states: list[int]
    revision: int = -1
    step: str | None = None
    is_open: bool = False
    last: Call | None = None
    uncertain: set[tuple[str, str]] = field(default_factory=set)
    """Reports that may have happened: the outcome was decided by the step, and not shown."""
    lost: str = ""
    """Why events of the session are missing."""


class Judge:
    """The state of the rules of a workflow while the calls of one run are read."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.rules = [_Rule(rule.text, rule=rule) for rule in workflow.order_rules]
        self.rules += [
            _Rule(f"{guard} only at {', '.join(steps) or 'no step'}", guard=guard, steps=tuple(steps))
            for guard, steps in workflow.guards.items()
        ]
        self.signals = list(_signals(workflow))
        self.sessions: dict[str, _Session] = {}
        self.outside = self._begin()
        self.recognised: dict[str, None] = {}
        self.plain = [_Rule(rule.name, rule=rule.rule) for rule in self.rules]
        """The order rules as they are judged without sessions."""
        self.plain_session = self._begin()

    def _begin(self) -> _Session:
        return _Session([0] * len(self.rules))

    def add(self, call: Call) -> None:
        """Follow one call."""
        if call.was_refused:
            return
        self._follow_flow(call)
        self._judge_guards(call)
        event = Event(call=call.use)
        is_in_session = False
        for session in self.sessions.values():
            if session.is_open:
                is_in_session = True
                self._events(self.rules, session, call, event)
        if not is_in_session:
            self._events(self.rules, self.outside, call, event)
        self._recognise(call, event)

    def verdicts(self, unreadable: str) -> list[JudgedRule]:
        """Return the verdict about each rule; *unreadable* says what could not be read."""
        self._end()
        return [self._verdict(index, unreadable) for index in range(len(self.rules))]

    # --- sessions of flow

    def _follow_flow(self, call: Call) -> None:
        line = str(call.use.input.get("command", call.use.input.get("cmd", "")))
        is_tool = _FLOW_TOOL.match(call.use.tool) is not None
        if not (is_tool or (call.use.tool in SHELLS and re.search(r"\bflow(?:rail)?\s", line))):
            return
        shown = _shown(call.result or "")
        if shown is not None and shown.skill == self.workflow.name:
            word = str(call.use.input.get("outcome", "")) if is_tool else _outcome_in(line)
            self._follow_answer(call, shown, word)
        elif call.result is None and (is_tool or re.search(r"\bflow(?:rail)? step\b", line)):
            for session in self.sessions.values():
                session.lost, session.step = "the result of a report is missing", None

    def _follow_answer(self, call: Call, shown: _Shown, word: str) -> None:
        """Follow what an answer of `flow` says about a session, after the report of *word*."""
        session = self.sessions.get(shown.session)
        if session is None:
            session = self.sessions[shown.session] = self._begin()
            session.lost = "the beginning of the session is missing" if shown.revision else ""
        elif shown.revision == session.revision + 1 and session.step is not None:
            self._report(session, call, word, shown.step)
        elif shown.revision > session.revision:
            session.lost = session.lost or "moves of the session are missing"
        session.is_open = shown.status in {"active", "waiting"}
        if shown.step and shown.revision > session.revision and session.is_open:
            self._events(self.rules, session, call, Event(shown.step))
            self.recognised[shown.step] = None
        session.revision, session.step, session.last = shown.revision, shown.step, call
        if shown.status == "completed":
            self._owe(self.rules, session, call)

    def _report(self, session: _Session, call: Call, word: str, to: str | None) -> None:
        """Follow the outcome of a report. If the step decided it, the outcome follows from where it led."""
        step = self.workflow.get(session.step)
        if step is None:
            session.lost = "the workflow has changed since"
            return
        named = "ok" if word == "pass" else word
        given = [Outcome(named)] if named in OUTCOMES and not step.decides else list(step.transitions)
        outcomes = {
            str(Outcome.OK if transition.capped else outcome)
            for outcome in given
            if outcome in step.transitions
            for transition in transitions(self.workflow, step, outcome)
            if transition.to == to
        }
        if len(outcomes) == 1:
            self._events(self.rules, session, call, Event(step.id, outcomes.pop()))
        elif outcomes:
            session.uncertain |= {(step.id, outcome) for outcome in outcomes}
        else:
            session.lost = "a move does not fit the workflow"

    def _judge_guards(self, call: Call) -> None:
        at = {session.step for session in self.sessions.values() if session.is_open}
        for rule in self.rules:
            if rule.guard and forbidding([rule.guard], call.use) is not None:
                rule.seen = True
                if None in at:
                    rule.doubt = "the step of the session is not known"
                elif not at & set(rule.steps) and rule.broken is None:
                    where = f"at {', '.join(sorted(map(str, at)))}" if at else "outside of the session"
                    rule.broken = (call.file, call.line, f"the call was made {where}")

    # --- without flow

    def _recognise(self, call: Call, event: Event) -> None:
        """Follow the call as one of a run without sessions."""
        session = self.plain_session
        for pattern, step, outcomes in self.signals:
            if forbidding([pattern], call.use) is not None:
                self.recognised.setdefault(step, None)
                if session.step != step:
                    self._events(self.plain, session, call, Event(step))
                    session.step = step
                self._events(self.plain, session, call, event)
                if outcomes and call.status is None:
                    session.uncertain |= {(step, outcome) for outcome in outcomes}
                elif outcomes:
                    outcome = outcomes[0] if call.status == 0 else outcomes[-1]
                    self._events(self.plain, session, call, Event(step, outcome))
                    session.step = None  # its next call is another attempt
                break
        else:
            self._events(self.plain, session, call, event)
        session.last = call

    def _end(self) -> None:
        if not self.sessions and self.plain_session.last is not None:
            self._owe(self.plain, self.plain_session, self.plain_session.last)

    # --- rules

    def _events(self, rules: list[_Rule], session: _Session, call: Call, event: Event) -> None:
        for index, rule in enumerate(rules):
            if rule.rule is None:
                continue
            matched = rule.rule.matched(event)
            if True in matched:
                first, then, _, _ = matched
                rule.seen |= first or (then and rule.rule.form is not Form.AFTER)
                session.states[index], is_broken = rule.rule.follow(session.states[index], matched)
                is_certain = not session.lost or not any(side.step for side in rule.rule.sides if side)
                if is_broken and is_certain and rule.broken is None:
                    rule.broken = (call.file, call.line, rule.rule.missing)

    def _owe(self, rules: list[_Rule], session: _Session, call: Call) -> None:
        for index, rule in enumerate(rules):
            if rule.rule is not None and rule.rule.is_owed(session.states[index]) and rule.broken is None:
                rule.broken = (call.file, call.line, rule.rule.missing)

    def _verdict(self, index: int, unreadable: str) -> JudgedRule:
        rule = self.rules[index] if self.sessions or self.rules[index].guard else self.plain[index]
        hidden = self._hidden(rule)
        if rule.broken is not None and not hidden:
            file, line, reason = rule.broken
            return JudgedRule(rule.name, RunVerdict.BROKEN, file, line, reason)
        doubt = hidden or self._doubt(index, rule) or unreadable
        return JudgedRule(rule.name, RunVerdict.UNKNOWN if doubt else RunVerdict.KEPT, reason=doubt)

    def _hidden(self, rule: _Rule) -> str:
        """Return why a rule cannot be judged in a run without sessions; empty if it can."""
        if self.sessions:
            return ""
        if rule.rule is None:
            return "the run used no session of the workflow" if rule.seen or not self.recognised else ""
        if not (rule.seen or rule.broken):
            return "nothing that it is about was recognised"
        sides = (side for side in rule.rule.sides if side is not None and not self._is_visible(side))
        return next((f"without a session, {side} is not visible" for side in sides), "")

    def _doubt(self, index: int, rule: _Rule) -> str:
        """Return why it is unknown whether a rule was kept that was not seen broken; empty if it was kept."""
        if rule.rule is None:
            return rule.doubt
        for session in self.sessions.values() or [self.plain_session]:
            names = {(side.step, side.outcome) for side in rule.rule.sides if side is not None}
            if names & session.uncertain:
                return "the outcome of a step was not shown"
            if session.lost and any(step for step, _ in names):
                return session.lost
            if session.is_open and rule.rule.is_owed(session.states[index]):
                return "the session has not ended"
        return ""

    def _is_visible(self, side: Side) -> bool:
        """Return whether the events of *side* can be recognised without sessions."""
        if side.pattern:
            return True
        return any(
            step == side.step and (not side.outcome or side.outcome in outcomes)
            for _, step, outcomes in self.signals
        )


def _signals(workflow: Workflow) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield patterns of calls that belong to a step, with its outcomes if the call succeeds and if it fails."""
    for step in workflow.steps:
        for command in step.commands.values():
            words = " ".join(re.sub(r"\$\w+", "*", word) for word in command.run)
            yield (
                f"Bash({words}*)",
                step.id,
                ("ok", "fail" if Outcome.FAIL in step.transitions else "iterate"),
            )
        for outcome, checks in step.evidence.items():
            for check in checks:
                if check.file:
                    yield f"Edit({re.sub(r'^[$]work', '**', check.file)})", step.id, (outcome,)
    for guard, steps in workflow.guards.items():
        if len(steps) == 1:
            yield guard, steps[0], ()


@dataclass(frozen=True)
class _Shown:
    """What an answer of `flow` says about a session."""

    session: str
    revision: int
    skill: str
    status: str
    step: str | None


def _shown(text: str) -> _Shown | None:
    """Return what an answer of `flow` says, in XML or JSON; `None` if it is none."""
    match, step = _SESSION.search(text), _STEP.search(text)
    if match is not None:
        return _Shown(match[1], int(match[2]), match[3], match[4], step[1] if step else None)
    try:
        answer = json.loads(text)
        position = answer["step"]["id"] if answer["step"] else None
        return _Shown(answer["session"], answer["revision"], answer["skill"], answer["status"], position)
    except (ValueError, TypeError, KeyError):
        return None


def _outcome_in(line: str) -> str:
    """Return the outcome that a command line reports."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return next((word for word in words if word in {*OUTCOMES, "pass", "done"}), "")
