"""A recorded session run again in memory, against its workflow as it is today.

The first turn that would go elsewhere, or be refused, is where the two part; what comes after it says
nothing any more.
"""

from __future__ import annotations

from typing import NamedTuple

from flowrail.errors import FlowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import agents, questions, reviews
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.sessions.session import Report, Session
from flowrail.testing.record.script import NOT_BACK, Script, Turn


class Parting(NamedTuple):
    """Where today's workflow goes another way: at which turn, where it leads, or why it is refused."""

    number: int
    step: str | None
    report: str
    then: str | None
    now: str | None
    why: str = ""
    revision: int = 0

    @property
    def told(self) -> str:
        """The same in words."""
        if not self.number:
            return self.why or f"it begins at {_named(self.now)}, then at {_named(self.then)}"
        at = f"`{self.report}` of step `{self.step}` (turn {self.number})"
        if self.why:
            return f"{at}: {self.why}"
        return f"{at} leads to {_named(self.now)}, then to {_named(self.then)}"


def replay(workflow: Workflow, script: Script, *, call: Call = call_plainly) -> Parting | None:
    """Return where *script* parts from what *workflow* would do today; `None` where it does not."""
    try:
        session = start(workflow, script.params)
    except FlowError as error:
        return Parting(0, None, "", script.entry, None, _told(error))
    if session.step != script.entry:
        return Parting(0, None, "", script.entry, session.step)
    for number, turn in enumerate(script.turns, start=1):
        try:
            session = take(workflow, session, turn, call=call)
        except FlowError as error:
            return _parting(number, turn, None, _told(error))
        except Exception as error:  # noqa: BLE001 - an author's handler may raise anything
            return _parting(number, turn, None, f"{type(error).__name__}: {error}")
        if (session.step, session.status) != (turn.to, turn.status):
            return _parting(number, turn, session.step or session.status)
    return None


def take(workflow: Workflow, session: Session, turn: Turn, *, call: Call = call_plainly) -> Session:
    """Return *session* after one recorded turn."""
    for severity, text in turn.findings:
        session, _ = reviews.record(workflow, session, severity=severity, text=text)
    for finding in turn.resolved:
        session, _ = reviews.resolve(workflow, session, finding)
    if turn.agents or session.dispatches:
        session = _with_agents(session, turn)
    if turn.answers:
        session = _with_answers(session, turn)
    return advance(workflow, session, Report(turn.report, turn.facts), call=call)


def _with_agents(session: Session, turn: Turn) -> Session:
    states = agents.states(session)
    if len(states) != len(turn.agents):
        raise OtherWorkError(
            f"it hands out {len(states)} pieces of work, then {len(turn.agents)}",
            hint="see what changed: flow check --against",
        )
    return agents.with_states(
        session, [ended(state, word) for state, word in zip(states, turn.agents, strict=True)]
    )


def ended(state: agents.Dispatched, word: str) -> agents.Dispatched:
    """Return a piece of work as its agent came back: ok, fail, cancelled, or not at all."""
    if word == NOT_BACK:
        return state
    if word == agents.CANCELLED:
        return state._replace(status=agents.CANCELLED)
    return state._replace(status=agents.DONE, outcome=word)


def _with_answers(session: Session, turn: Turn) -> Session:
    given = dict(turn.answers)
    known = questions.asked(session)
    missing = given.keys() - {each.id for each in known}
    if missing:
        raise OtherWorkError(
            f"it no longer asks `{min(missing)}`", hint="see what changed: flow check --against"
        )
    answered = [
        each.answered(given[each.id], at="", by="", reason="as recorded")
        if each.id in given and each.is_open
        else each
        for each in known
    ]
    return questions.with_questions(session, answered)


class OtherWorkError(FlowError):
    """A step hands out or asks something else than it did."""

    code = "OTHER_WORK"


def _parting(number: int, turn: Turn, now: str | None, why: str = "") -> Parting:
    return Parting(number, turn.step, turn.report, turn.to or turn.status, now, why, turn.revision)


def _named(step: str | None) -> str:
    return f"`{step}`" if step else "the end"


def _told(error: FlowError) -> str:
    return f"{error.message} [{error.code}]"
