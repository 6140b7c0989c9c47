"""The parts of a step's guidance about agents, questions and review loops.

Most steps have none of them, so they are a module that other steps do not load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.machines.sessions.session import AskedQuestion, WorkingFile


@dataclass(frozen=True)
class WorkResult:
    """The answer of an agent whose child session has ended."""

    of: str
    """How the session ended, and which one."""
    facts: Mapping[str, Any]
    whole: Command
    """Prints the facts that are too long for the answer."""
    next: Command
    """For the agent that launched this one."""


@dataclass(frozen=True)
class DispatchView:
    """A piece of the step's work, and its child session as it is now."""

    number: int
    """Its number in the step, counted from 1."""
    agent: str
    workflow: str | None
    """The workflow that the child runs; `None` if it works from a prompt."""
    model: str | None
    vars: Mapping[str, object]
    item: Any
    child: str
    """The id of the child session."""
    status: str
    """The status of the child session, or `pending` if it has not started."""
    result: Mapping[str, object]
    """The facts that the child reported."""
    notes: tuple[str, ...]
    """What the child's agent noted."""
    succeeded: bool
    again: bool
    """Whether it ended without success and is still needed."""
    relayed: bool
    """Whether the leading agent reported for a sub-agent that only returned text."""
    moved_at: str
    """When the child last moved; empty if it has not started."""
    command: Command | None
    """The command of the agent: its whole task is to run it and follow what it prints. `None` in a preview."""
    again_command: Command | None
    """Reserves a new session for a new agent; `None` if the work has succeeded, or in a preview."""
    relay_command: Command | None
    """Reports for an agent that works from a prompt and only returned text; `None` for other agents."""


class OptionView(NamedTuple):
    """One answer to a question, and the command that gives it."""

    label: str
    description: str
    outcome: str | None
    command: Command | None


class QuestionView(NamedTuple):
    """A question of this session, or of an agent at work for it; ``command`` gives its answer."""

    id: str
    header: str
    text: str
    options: tuple[OptionView, ...]
    multi: bool
    answer: tuple[str, ...] | None
    session: str
    source: str
    command: Command | None


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
    dispatches: tuple[DispatchView, ...] = ()
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


class PendingQuestions(NamedTuple):
    """Questions to the user, and the session that waits for the answers."""

    session: str
    questions: tuple[AskedQuestion, ...]
    answer: Command
    resume: Command
