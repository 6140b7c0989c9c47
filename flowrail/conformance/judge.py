"""Judge one run of an agent: which guards and order rules of a workflow its tool calls kept.

If the run used `flow`, its sessions say which steps were entered and left. Otherwise a step is recognised by its
commands, by the files that its evidence demands, or by a guard that names it alone. What is not recognised is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from flowrail.conformance.transcripts import Call
from flowrail.machines.next_step import transitions
from flowrail.machines.transition import REPORTED, VERDICTS
from flowrail.machines.workflow import Workflow
from flowrail.outcome import GOVERNED, REPORTABLE, Outcome
from flowrail.rules.order_rule import Event, Form, OrderRule
from flowrail.rules.tools import SHELLS, forbidding
from flowrail.session_status import COMPLETED, OPEN

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


Deviation = tuple[str, int, str]
"""The first deviation from a rule: the transcript, the line and what was missing."""


@dataclass
class _Guard:
    """A guard during a run."""

    pattern: str
    steps: Sequence[str]
    seen: bool = False
    """Whether it guarded a call."""
    broken: Deviation | None = None
    doubt: str = ""
    """Why its verdict is unknown."""

    @property
    def name(self) -> str:
        """The guard with its steps."""
        return f"{self.pattern} only at {', '.join(self.steps) or 'no step'}"


@dataclass
class _Track:
    """The states of the order rules in a session of the workflow, outside of any, or in a run without sessions."""

    rules: Sequence[OrderRule]
    broken: dict[int, Deviation]
    """The first deviation from each rule. Tracks that are judged together have it in common."""
    states: list[int] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    """The rules that something happened about."""
    revision: int = -1
    step: str | None = None
    is_open: bool = False
    last: Call | None = None
    uncertain: set[tuple[str, str]] = field(default_factory=set)
    """Reports that may have happened: the outcome was decided by the step, and not shown."""
    lost: str = ""
    """Why events of the session are missing."""

    def __post_init__(self) -> None:
        self.states = [0] * len(self.rules)

    def follow(self, call: Call, event: Event) -> None:
        """Follow an event that *call* shows."""
        for index, rule in enumerate(self.rules):
            matched = rule.matched(event)
            if matched[0] or (matched[1] and rule.form is not Form.AFTER):
                self.seen.add(index)
            self.states[index], is_broken = rule.follow(self.states[index], matched)
            is_certain = not self.lost or not any(side.step for side in rule.sides if side)
            if is_broken and is_certain:
                self.broken.setdefault(index, (call.file, call.line, rule.missing))

    def complete(self, call: Call) -> None:
        """Follow the completion of the session, which *call* shows."""
        for index, rule in enumerate(self.rules):
            if rule.is_owed(self.states[index]):
                self.broken.setdefault(index, (call.file, call.line, rule.missing))

    def doubt(self, index: int) -> str:
        """Return why it is unknown whether a rule was kept; empty if it was."""
        rule = self.rules[index]
        names = {(side.step, side.outcome) for side in rule.sides if side is not None}
        if names & self.uncertain:
            return "the outcome of a step was not shown"
        if self.lost and any(step for step, _ in names):
            return self.lost
        is_owed = self.is_open and rule.is_owed(self.states[index])
        return "the session has not ended" if is_owed else ""


class Judge:
    """The state of the rules of a workflow while the calls of one run are read."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.rules = workflow.order_rules
        self.guards = [_Guard(pattern, steps) for pattern, steps in workflow.guards.items()]
        self.signals = list(_signals(workflow))
        self.recognised: dict[str, None] = {}
        self.sessions: dict[str, _Track] = {}
        self.outside = _Track(self.rules, {})
        self.plain = _Track(self.rules, {})
        """The run as it is judged without sessions."""

    @property
    def names(self) -> list[str]:
        """The order rules and guards, in the order of their verdicts."""
        return [*(rule.text for rule in self.rules), *(guard.name for guard in self.guards)]

    def add(self, call: Call) -> None:
        """Follow one call."""
        if call.was_refused:
            return
        self._follow_flow(call)
        self._judge_guards(call)
        event = Event(call=call.use)
        for track in [track for track in self.sessions.values() if track.is_open] or [self.outside]:
            track.follow(call, event)
        self._recognise(call, event)

    def verdicts(self, unreadable: str) -> list[JudgedRule]:
        """Return the verdict about each rule; *unreadable* says what could not be read."""
        if not self.sessions and self.plain.last is not None:
            self.plain.complete(self.plain.last)
        found: list[tuple[Deviation | None, str, str]] = []
        tracks = [*self.sessions.values()] or [self.plain]
        for index in range(len(self.rules)):
            doubt = next(filter(None, (track.doubt(index) for track in tracks)), "")
            found.append((tracks[0].broken.get(index), self._hidden(index), doubt))
        is_hidden = not self.sessions
        for guard in self.guards:
            hidden = is_hidden and (guard.seen or not self.recognised)
            found.append(
                (guard.broken, "the run used no session of the workflow" if hidden else "", guard.doubt)
            )
        return [_judged(name, *about, unreadable) for name, about in zip(self.names, found, strict=True)]

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
            session = self.sessions[shown.session] = _Track(self.rules, self.outside.broken)
            session.lost = "the beginning of the session is missing" if shown.revision else ""
        elif shown.revision == session.revision + 1 and session.step is not None:
            self._report(session, call, word, shown.step)
        elif shown.revision > session.revision:
            session.lost = session.lost or "moves of the session are missing"
        session.is_open = shown.status in OPEN
        if shown.step and shown.revision > session.revision and session.is_open:
            session.follow(call, Event(shown.step))
            self.recognised[shown.step] = None
        session.revision, session.step, session.last = shown.revision, shown.step, call
        if shown.status == COMPLETED:
            session.complete(call)

    def _report(self, session: _Track, call: Call, word: str, to: str | None) -> None:
        """Follow the outcome of a report. If the step decided it, the outcome follows from where it led."""
        step = self.workflow.get(session.step)
        if step is None:
            session.lost = "the workflow has changed since"
            return
        named = VERDICTS.get(word, word)
        given = [Outcome(named)] if named in REPORTABLE and not step.decides else list(step.transitions)
        outcomes = {
            str(Outcome.OK if transition.capped else outcome)
            for outcome in given
            if outcome in step.transitions
            for transition in transitions(self.workflow, step, outcome)
            if transition.to == to
        }
        if len(outcomes) == 1:
            session.follow(call, Event(step.id, outcomes.pop()))
        elif outcomes:
            session.uncertain |= {(step.id, outcome) for outcome in outcomes}
        else:
            session.lost = "a move does not fit the workflow"

    def _judge_guards(self, call: Call) -> None:
        at = {session.step for session in self.sessions.values() if session.is_open}
        for guard in self.guards:
            if forbidding([guard.pattern], call.use) is not None:
                guard.seen = True
                if None in at:
                    guard.doubt = "the step of the session is not known"
                elif not at & set(guard.steps) and guard.broken is None:
                    where = f"at {', '.join(sorted(map(str, at)))}" if at else "outside of the session"
                    guard.broken = (call.file, call.line, f"the call was made {where}")

    # --- without flow

    def _recognise(self, call: Call, event: Event) -> None:
        """Follow the call as one of a run without sessions."""
        track = self.plain
        signals = (signal for signal in self.signals if forbidding([signal[0]], call.use) is not None)
        _, step, outcomes = next(signals, ("", "", ()))
        if step and track.step != step:
            track.follow(call, Event(step))
            track.step = step
        track.follow(call, event)
        if step:
            self.recognised.setdefault(step, None)
        if outcomes and call.status is None:
            track.uncertain |= {(step, outcome) for outcome in outcomes}
        elif outcomes:
            track.follow(call, Event(step, outcomes[0] if call.status == 0 else outcomes[-1]))
            track.step = None  # its next call is another attempt
        track.last = call

    def _hidden(self, index: int) -> str:
        """Return why an order rule cannot be judged in a run without sessions; empty if it can."""
        if self.sessions:
            return ""
        if index not in self.plain.seen and index not in self.plain.broken:
            return "nothing that it is about was recognised"
        shown = {(step, outcome) for _, step, outcomes in self.signals for outcome in ("", *outcomes)}
        for side in self.rules[index].sides:
            if side is not None and not side.pattern and (side.step, side.outcome) not in shown:
                return f"without a session, {side} is not visible"
        return ""


def _judged(name: str, broken: Deviation | None, hidden: str, doubt: str, unreadable: str) -> JudgedRule:
    if broken is not None and not hidden:
        return JudgedRule(name, RunVerdict.BROKEN, *broken)
    reason = hidden or doubt or unreadable
    return JudgedRule(name, RunVerdict.UNKNOWN if reason else RunVerdict.KEPT, reason=reason)


def _signals(workflow: Workflow) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield patterns of calls that belong to a step, with its outcomes if the call succeeds and if it fails."""
    for step in workflow.steps:
        for command in step.commands.values():
            words = " ".join(re.sub(r"\$\w+", "*", word) for word in command.run)
            failed = next((outcome for outcome in GOVERNED if outcome in step.transitions), Outcome.FAIL)
            yield f"Bash({words}*)", step.id, ("ok", str(failed))
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
    return next((word for word in re.findall(r"[\w-]+", line) if word in REPORTED), "")
