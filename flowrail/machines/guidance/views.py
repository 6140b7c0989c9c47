"""The parts of a step's guidance about agents, questions and review loops.

Most steps have none of them, so they are a module that other steps do not load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowrail.command import Command
from flowrail.machines.session import AskedQuestion, WorkingFile


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


@dataclass(frozen=True)
class QuestionView(AskedQuestion):
    """A question of this session, or of an agent at work for it, and how to answer it."""

    session: str = ""
    """The id of the session that asks."""
    command: Command | None = None
    """Gives an answer in the user's words; `None` in a preview."""
    choices: tuple[Command | None, ...] = ()
    """One command for each option that has one; empty in a preview."""


@dataclass(frozen=True)
class LoopView:
    """The state of a review loop, at its gate, at its review, or at the step that it sent back to."""

    gate: str
    name: str
    round: int
    limit: int
    mode: str
    """At a gate: review, passed, failed or ask-user. At a review that was entered again: re-verify. At the work: fix."""
    severities: tuple[str, ...] = ()
    """The severities that block in this round."""
    blocking: tuple[str, ...] = ()
    """The findings that block."""
    fixed_in: str | None = None
    """The step that fixes them."""
    unreviewed: bool = False
    """Whether the review of the round failed without recording a finding."""


@dataclass(frozen=True)
class DoneStep:
    """A step that was reported, its outcome, and the note."""

    step: str
    outcome: str
    note: str = ""


@dataclass(frozen=True)
class Briefing:
    """What an agent must know to continue a session that it does not remember."""

    now: str = field(metadata={"internal": True})
    """The moment from which ages are counted; not part of the JSON."""
    done: tuple[DoneStep, ...] = ()
    """The newest reports, the oldest first."""
    earlier: int = 0
    """How many reports came before them."""
    noted: tuple[str, ...] = ()
    """The notes of the reports that are not in `done`, and of sub-agents."""
    already_ran: tuple[str, ...] = ()
    """The last shell commands in the current step, if hooks record them, each with its exit status and age."""
    notes_path: str = ""
    """The session's notes, if the workflow keeps any."""
    notes: WorkingFile | None = None
    """`None` if that file is missing."""


@dataclass(frozen=True)
class SentWork:
    """A handoff that a session has sent."""

    target: str
    """The skill that takes over."""
    received: bool
    command: Command
    """Receives it."""


@dataclass(frozen=True)
class PendingQuestions:
    """Questions to the user, and the session that waits for the answers."""

    session: str
    questions: tuple[AskedQuestion, ...]
    answer_command: Command
    """Records the answers."""
    resume_command: Command
