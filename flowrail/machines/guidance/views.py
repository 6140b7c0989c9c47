"""The parts of a step's guidance about agents, questions and review loops.

Most steps have none of them, so they are a module that other steps do not load.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step_parts import Question
from flowrail.machines.engine.dispatched_work import WorkResult
from flowrail.machines.sessions.session import AskedQuestion, Dispatched, WorkingFile


class DispatchView(NamedTuple):
    """A dispatch as it is now; ``command`` is its agent's first command."""

    id: str
    agent: str
    workflow: str | None
    vars: Mapping[str, object]
    model: str | None
    status: str
    holder: str | None
    expires_at: str | None
    child: str | None
    outcome: str | None
    command: Command | None
    item: Any
    result: Mapping[str, object]
    again: bool
    """Whether it ended without success and is still needed, so that it can be claimed again."""
    resume: Command | None
    """If it is claimed, the command with which a new agent continues it.

    A prompt whose lease has expired has none: it is claimed again, so that the earlier agent is refused.
    """
    cancel: Command | None
    """The command that cancels it; `None` once it has ended."""
    lease_over: bool
    """Whether it is claimed and its lease has expired, so that another agent may claim it."""


class OptionView(NamedTuple):
    """One answer to a question, and the command that gives it."""

    label: str
    description: str
    outcome: str | None
    command: Command | None


class QuestionView(NamedTuple):
    """A question of this session, or of an agent at work for it; ``command`` gives its answer.

    From ``due`` on, ``default`` counts as the answer.
    """

    id: str
    header: str
    text: str
    options: tuple[OptionView, ...]
    multi: bool
    answer: tuple[str, ...] | None
    session: str
    source: str
    command: Command | None
    default: str | None
    due: str | None


class LoopView(NamedTuple):
    """The state of a review loop, at its gate, at its review, or at the step that it sent back to.

    ``mode`` is review, passed, failed or ask-user at a gate, re-verify at a review entered again,
    fix at the work. ``blocking`` are the findings that block, ``fixed_in`` the step that fixes them.
    """

    gate: str
    name: str
    round: int
    limit: int
    mode: str
    severities: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    fixed_in: str | None = None
    unreviewed: bool = False
    """Whether the review of the round failed without recording a finding."""
    only_changes: bool = False
    """Whether rounds after the first one review only the changes."""


class DoneStep(NamedTuple):
    """A step that was reported, its outcome, and what was found."""

    step: str
    outcome: str
    found: str = ""


class Briefing(NamedTuple):
    """What an agent must know to continue a session that it does not remember.

    ``asked`` are the parameters of the session. ``done`` are the newest reports, the oldest first, and
    ``earlier`` counts those before them. ``found`` and ``remember`` are what sub-agents and reports passed on.
    """

    asked: Mapping[str, object]
    topic: str
    started_at: str
    moved_at: str
    now: str
    done: tuple[DoneStep, ...] = ()
    earlier: int = 0
    found: tuple[str, ...] = ()
    remember: tuple[str, ...] = ()
    dispatches: tuple[Dispatched, ...] = ()
    """The current step's dispatches as they are now."""
    notes_path: str = ""
    """The session's notes, if the workflow keeps any; ``notes`` is `None` if the file is missing."""
    notes: WorkingFile | None = None
    for_agent: bool = False
    """Whether the session does the work of a sub-agent."""


class SentWork(NamedTuple):
    """A handoff that a session has sent: the target skill, whether it was received, and the command that receives it."""

    target: str
    received: bool
    command: Command


class Assignment(NamedTuple):
    """A free-form dispatch as its agent gets it: what to do, how to report it, how to ask the user.

    ``answered`` are questions and answers of agents that worked for the same step before.
    """

    session: str
    dispatch: Dispatched
    prompt: str
    finish: tuple[Command, ...]
    ask: Command
    answered: tuple[tuple[str, str], ...] = ()
    resources: Mapping[str, str] = Frozen()
    finding: Command | None = None
    """For a reviewer: the command that records a finding, without the finding."""
    given: Mapping[str, Any] = Frozen()
    """The variables and the item that the prompt does not mention."""
    """What is checked before the work counts as done."""


class DispatchResult(NamedTuple):
    """A dispatch that has ended, and the answer of its agent."""

    session: str
    dispatch: Dispatched
    answer: WorkResult
    replayed: bool = False


class PendingQuestions(NamedTuple):
    """Questions to the user, and the session that waits for the answers."""

    session: str
    questions: tuple[AskedQuestion, ...]
    written: tuple[Question, ...]
    answer: Command
    resume: Command
