"""Workflows and sessions for Python programs: load a workflow, start it, report, resume, read the history.

The sessions are those of the command line: the same operations run, so a program can continue a session that `flow` started,
and `flow` can continue a session of a program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import mermaid, svg
from flowrail.diagrams.session_trace import session_picture
from flowrail.errors import ChangedError, UsageError
from flowrail.formatters.guidance.step_output import pieces
from flowrail.machines.agents import find_dispatch
from flowrail.machines.frozen import INTERNAL
from flowrail.machines.plain_form import to_plain
from flowrail.machines.question import Question
from flowrail.machines.session_record import Record
from flowrail.machines.workflow import Workflow
from flowrail.operations.board import ListedSession, list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.sessions.abandon import abandon_session
from flowrail.operations.steps import current_step
from flowrail.operations.steps.current_step import look
from flowrail.operations.steps.new_session import begin
from flowrail.operations.steps.shown_step import ShownStep
from flowrail.operations.steps.user_questions import answer_questions, ask_user
from flowrail.outcome import Outcome
from flowrail.skills.opened_workflow import OpenedWorkflow
from flowrail.text.safe_text import visible

WAIT_SECONDS = 10.0
"""How long an operation waits for a session that another process holds."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SessionView(ShownStep):
    """A session at one revision. Reporting does not change it; `SessionStore.report` returns the next one.

    ``instructions`` is the text of the current step, ``next`` the outcomes that the step accepts, each with its next step.
    ``facts`` has the values reported so far, ``kept`` the whole session. ``step`` is `None` if the session has ended.
    ``replayed`` means that the report had been accepted before, so nothing changed.
    """

    store: SessionStore = field(metadata=INTERNAL)

    @property
    def id(self) -> str:
        """Its id."""
        return self.session

    @property
    def is_open(self) -> bool:
        """Whether the session has not ended."""
        return self.kept.is_open

    @property
    def facts(self) -> Mapping[str, Any]:
        """The values reported so far."""
        return self.kept.state

    @property
    def instructions(self) -> str:
        """The text of the current step."""
        return visible("\n".join(pieces(self, str)).strip("\n"))

    def history(self) -> tuple[Record, ...]:
        """Return every record of the session's journal, oldest first."""
        return self.store.history(self)


def to_mermaid(subject: Workflow | SessionView) -> str:
    """Return a workflow, or a session with its path through its workflow, as a Mermaid flowchart."""
    return mermaid.render(_picture(subject))


def to_svg(subject: Workflow | SessionView) -> str:
    """Return a workflow, or a session with its path through its workflow, as an SVG document."""
    shown = _picture(subject)
    return svg.render(shown, name=f"flow-{shown.name.replace('/', '-')}")


def _picture(subject: Workflow | SessionView) -> Picture:
    if isinstance(subject, Workflow):
        return picture(subject)
    return session_picture(subject.workflow, subject.history())


def load_workflow(skill: str | os.PathLike[str]) -> Workflow:
    """Return the workflow in the folder *skill*, or of the skill that `flow` finds under that name.

    A workflow written in Python runs its code, which must be approved if the folder belongs to a project.
    """
    return _load(os.fspath(skill)).workflow


def open_store(
    path: str | os.PathLike[str] | None = None,
    *,
    workflows: Iterable[Workflow] = (),
    actor: str | None = None,
    conversation: str | None = None,
    wait: float = WAIT_SECONDS,
) -> SessionStore:
    """Return the sessions in the folder or database *path*, or those of the current project.

    *workflows* are those that this program defines: name them to resume their sessions. The journal names *actor*,
    by default the user. New sessions belong to *conversation*, if one is given. An operation waits *wait* seconds for
    a session that another process holds.
    """
    return SessionStore(path, workflows, actor, conversation, wait)


class SessionStore:
    """The sessions of one store. `open_store` returns it. What a person does with sessions is done with `flow`.

    Every operation that is refused raises a `FlowError`: its class and `code` give the reason, its `hint` gives the remedy.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        workflows: Iterable[Workflow],
        actor: str | None,
        conversation: str | None,
        wait: float,
    ) -> None:
        self._notes: list[str] = []
        self._path = None if path is None else os.fspath(path)
        self._environment = Environment(
            store=self._path,
            tell=self._notes.append,
            conversation=conversation or "",
            in_program=True,
            wait=wait,
        )
        self._workflows = {workflow.name: workflow for workflow in workflows}
        self._environment.workflows = self._workflows
        if actor:
            self._environment.by = actor

    @property
    def path(self) -> str:
        """The folder of the store; with a database, the folder of the sessions' files."""
        return self._environment.store_path

    def __repr__(self) -> str:
        scheme, is_url, _ = (self._path or "").partition("://")
        return f"<SessionStore: {f'{scheme}://…' if is_url else self.path}>"  # a URL may contain a password

    def start(self, workflow: Workflow | str, params: Mapping[str, object] | None = None) -> SessionView:
        """Start a session and return it at its first step. *workflow* may be the name of a skill."""
        if isinstance(workflow, str):
            return self._view(begin(self._environment, workflow, params))
        opened = self._opened(workflow)
        return self._view(begin(self._environment, workflow.name, params, opened))

    def report(
        self,
        session: SessionView,
        outcome: Outcome | str,
        facts: Mapping[str, object] | None = None,
        *,
        note: str = "",
    ) -> SessionView:
        """Report the outcome of the session's current step and return the session at the next one.

        Raises `ConflictError` if the session has moved since it was read, or if the step does not accept the outcome.
        Repeating an accepted report returns the same answer and changes nothing. The *note* is
        shown when the session is resumed.
        """
        shown = current_step.report(
            self._environment,
            session.skill,
            str(outcome),
            facts=facts,
            session_id=session.id,
            expect=session.revision,
            note=note,
        )
        return self._view(shown)

    def resume(self, session: SessionView | ListedSession | str, *, take_over: bool = False) -> SessionView:
        """Return the session, given itself or its id, as it is now.

        Nothing changes, unless *take_over* makes a session of another conversation one of this store's conversation.
        """
        return self._view(look(self._environment, _id_of(session), take_over=take_over))

    def history(self, session: SessionView | ListedSession | str) -> tuple[Record, ...]:
        """Return every record of the session's journal, oldest first, each checked against the one before."""
        return tuple(self._environment.store.records(_id_of(session)))

    def list(self, *, ended: bool = False) -> tuple[ListedSession, ...]:
        """Return the open sessions, or with *ended* all; those that need a person first, then the most recent."""
        return tuple(list_sessions(self._environment.store, self._environment.now, every=ended))

    def answer(
        self, session: SessionView, answers: Mapping[str, str | Sequence[str]], reason: str = ""
    ) -> SessionView:
        """Record the user's answers to open questions: an option's label for each question's id, or several."""
        labels = {name: [word] if isinstance(word, str) else word for name, word in answers.items()}
        return self._view(answer_questions(self._environment, session.id, labels, reason))

    def ask(self, work: SessionView, asked: Sequence[Question]) -> SessionView:
        """Record a sub-agent's questions to the user, and return its session, which waits for the answers."""
        pending = ask_user(self._environment, work.id, asked)
        return self._view(look(self._environment, pending.session))

    def child(self, session: SessionView, number: int) -> SessionView:
        """Return the child session that does a dispatch of the current step, by its number. It starts if it is new."""
        dispatch = find_dispatch(self._environment.store.read(session.id).session, str(number))
        return self._view(look(self._environment, dispatch.child))

    def abandon(self, session: SessionView | ListedSession | str, reason: str = "") -> None:
        """End a session that will not be completed. Its journal stays."""
        abandon_session(self._environment, _id_of(session), reason)

    def _opened(self, workflow: Workflow) -> OpenedWorkflow:
        """Return *workflow* ready to start: from the folder that it was loaded from, or as one of this program."""
        if workflow.folder is None:
            self._workflows[workflow.name] = workflow
            return self._environment.loader.of_program(workflow)
        opened = self._environment.loader.open_folder(workflow.folder, address=workflow.name)
        if to_plain(opened.workflow) != to_plain(workflow):  # functions are new with each load
            raise ChangedError(
                f"the workflow in {workflow.folder} changed after it was loaded",
                hint="load it again: load_workflow(…)",
                folder=workflow.folder,
            )
        return opened

    def _view(self, shown: ShownStep) -> SessionView:
        if shown.workflow.folder is None:
            self._workflows.setdefault(shown.skill, shown.workflow)
        values = {**vars(shown), "notes": (*shown.notes, *self._notes)}
        self._notes.clear()
        return SessionView(**values, store=self)


def _load(skill: str) -> OpenedWorkflow:
    environment = Environment()
    if os.path.isdir(skill):
        return environment.loader.open_folder(skill)
    if os.path.isabs(skill) or skill.startswith("."):
        raise UsageError(f"the folder `{skill}` does not exist", hint="name a skill, or the folder of one")
    return environment.loader.open_skill(skill)


def _id_of(session: SessionView | ListedSession | str) -> str:
    return session if isinstance(session, str) else session.session
