"""The guidance about a step's agents and the questions to the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from flowrail.command import Command
from flowrail.machines import agents, asked_questions
from flowrail.machines.agents import Children, Join
from flowrail.machines.frozen import Frozen
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.question import Option
from flowrail.machines.session import AskedQuestion, Dispatched, Session
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.session_status import ACTIVE, COMPLETED, ENDED, OPEN
from flowrail.text.phrases import count, in_words

PENDING = "pending"
"""The status of a dispatch whose child session has not started."""


@dataclass(frozen=True)
class AgentWork(Dispatched):
    """A piece of the step's work, and the session of its agent as it is now."""

    number: int = 0
    """Its number in the step, counted from 1."""
    vars: Mapping[str, object] = Frozen()
    status: str = PENDING
    """The status of the child session, or `pending` if it has not started."""
    result: Mapping[str, object] = Frozen()
    """The facts that the child reported."""
    notes: tuple[str, ...] = ()
    """What the child's agent noted."""
    moved_at: str = ""
    """When the child last moved; empty if it has not started."""
    relayed: bool = False
    """Whether the leading agent reported for a sub-agent that only returned text."""
    succeeded: bool = False
    again: bool = False
    """Whether it ended without success and is still needed."""
    command: Command | None = None
    """The command of the agent: its whole task is to run it and follow what it prints. `None` in a preview."""
    again_command: Command | None = None
    """Reserves a new session for a new agent; `None` if the work has succeeded, or in a preview."""
    relay_command: Command | None = None
    """Reports for an agent that works from a prompt and only returned text; `None` for other agents."""


class AgentCount(NamedTuple):
    """The sub-agents of a step, counted by the status of their sessions."""

    done: int = 0
    failed: int = 0
    started: int = 0
    pending: int = 0

    @classmethod
    def of(cls, statuses: Iterable[str]) -> AgentCount:
        """Count these statuses of child sessions."""
        counted = Counter(statuses)
        at_work = sum(counted[status] for status in OPEN)
        failed = sum(counted[status] for status in ENDED) - counted[COMPLETED]
        return cls(
            counted[COMPLETED], failed, at_work, counted.total() - counted[COMPLETED] - failed - at_work
        )

    @property
    def total(self) -> int:
        """All agents of the step."""
        return self.done + self.failed + self.started + self.pending

    @property
    def text(self) -> str:
        """The agents in words, such as `2 of 5 agents finished, 3 not started`; empty without any."""
        if not self.total:
            return ""
        counts = ((self.failed, "failed"), (self.started, "at work"), (self.pending, "not started"))
        others = [f"{number} {status}" for number, status in counts if number]
        return ", ".join([f"{self.done} of {count(self.total, 'agent')} finished", *others])


@dataclass(frozen=True)
class QuestionToUser(AskedQuestion):
    """A question of this session, or of an agent at work for it, and how to answer it."""

    session: str = ""
    """The id of the session that asks."""
    command: Command | None = None
    """Gives an answer in the user's words; `None` in a preview."""
    choices: tuple[Command | None, ...] = ()
    """One command for each option that has one; empty in a preview."""


class WorkResult(NamedTuple):
    """The answer of an agent whose child session has ended."""

    of: str
    """How the session ended, and which one."""
    facts: Mapping[str, object]
    whole: Command
    """Prints the facts that are too long for the answer."""
    next: Command
    """For the agent that launched this one."""


def join_at(workflow: Workflow, step: StepDef, session: Session, children: Children) -> Join | None:
    """Return the progress of the step's dispatches; `None` if it has none."""
    goes_over = bool(session.id) and step.work is not None and step.work.over is not None  # no preview
    return agents.join_of(workflow, step, session, children) if session.dispatches or goes_over else None


def dispatches_of(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    children: Children,
    join: Join | None,
    address: str | None,
) -> Iterator[AgentWork]:
    """Yield the dispatches of the current step. *address* is the store's."""
    if step.work is None:
        return
    is_needed = join is not None and not join.met
    values = names_at(workflow, session, step)
    for dispatch in session.dispatches:
        child, number = children.get(dispatch.child), agents.number_of(dispatch)
        succeeded = agents.has_succeeded(workflow, step, session, child)
        known = child or Session(dispatch.child, session.skill, None, PENDING)
        is_elsewhere = known.owner not in {None, session.owner}
        takes_reports = step.work.workflow is None and known.status in {ACTIVE, PENDING}
        yield AgentWork(
            **vars(dispatch),
            number=number,
            vars=agents.variables_of(step.work, dispatch, values),
            status=known.status,
            result=known.state,
            notes=tuple(note.text for note in known.notes),
            moved_at=known.moved_at,
            relayed=known.last is not None and known.last.relayed,
            succeeded=succeeded,
            again=is_needed and child is not None and not (child.is_open or succeeded),
            command=Command("step", session=known.id, store=address, take_over=is_elsewhere or None),
            again_command=None
            if succeeded
            else Command("step", session=session.id, again=str(number), store=address),
            relay_command=Command("step", session.skill, Outcome.OK, session=known.id, store=address)
            if takes_reports
            else None,
        )


def failures_of(session: Session, children: Children) -> Iterator[str]:
    """Yield the reasons of the agents that failed, if they made the previous step fail."""
    last = session.last
    if last is None or last.outcome != Outcome.FAIL:
        return
    for dispatch in last.dispatches:
        child = children.get(dispatch.child)
        if child is not None and not child.is_open and child.status != COMPLETED:
            reasons = [*map(in_words, child.state.values()), *(note.text for note in child.notes)]
            about = "" if dispatch.item is None else f" ({in_words(dispatch.item)})"
            yield f"{last.step}{about} failed: {'; '.join(reasons) or 'no reason was given'}"


def questions_of(
    session: Session, children: Children, store: str | None, address: str | None
) -> Iterator[QuestionToUser]:
    """Yield the questions of the session, and the open ones of its agents."""
    yield from (_question(asked, session, store) for asked in session.questions)
    for agent in children.values():
        if agent.is_open:
            yield from (_question(asked, agent, address) for asked in agent.open_questions)


def _question(asked: AskedQuestion, session: Session, store: str | None) -> QuestionToUser:
    return QuestionToUser(
        **vars(asked),
        session=session.id,
        command=Command("answer", session.id, answers={asked.id: asked.placeholder}, store=store),
        choices=tuple(_answer(session, asked, option, store) for option in asked.options),
    )


def _answer(session: Session, asked: AskedQuestion, option: Option, store: str | None) -> Command:
    """Return the command that answers with *option*. Accepting open findings needs a reason."""
    needs_reason = asked.source in asked_questions.OWN and option.outcome in asked_questions.NEEDS_REASON
    reason = asked_questions.ACCEPTED if needs_reason else None
    return Command("answer", session.id, answers={asked.id: option.label}, reason=reason, store=store)


def handed_back(session: Session, address: str | None) -> WorkResult:
    """Return the answer of an agent whose work for another session has ended."""
    parent = session.parent
    assert parent is not None  # noqa: S101 - only a child session hands its work back
    return WorkResult(
        of=f"{session.status}: session {session.id} of {session.skill}",
        facts=session.state,
        whole=Command("sessions", session.id, json=True, store=address),
        next=Command("resume", parent.session, store=address),
    )
