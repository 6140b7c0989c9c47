"""A summary of a session: for an agent that continues it and may not remember it, or after its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from stat import S_ISREG

from flowrail.command import Command
from flowrail.evidence import shell_history
from flowrail.handoff.handoff import ACKNOWLEDGMENT, INVOCATION
from flowrail.handoff.store import Handoffs, missing_parts, payload_path
from flowrail.machines.guidance.guide import Briefing, DoneStep, Guidance, SentWork
from flowrail.machines.session import Dispatched, Session, WorkingFile
from flowrail.machines.session_store import Store
from flowrail.operations.environment import Environment
from flowrail.operations.steps import working_files
from flowrail.operations.steps.dispatched_work import children_of
from flowrail.text.phrases import ago, in_words
from flowrail.text.safe_text import in_quotes, shortened

MOST_STEPS = 12
"""A briefing names at most this many reports, the newest."""
MOST_NOTED = 20
"""A briefing has at most this many notes, the newest."""
LONGEST_ITEM = 40
MOST_FILES = 5
"""At most this many result files are named."""


def with_past(environment: Environment, session: Session, guidance: Guidance) -> Guidance:
    """Return *guidance* with working files, and a briefing, or the results after the end."""
    guidance = replace(guidance, working_files=working_files.listed(environment, session))
    if session.is_open:
        return replace(guidance, briefing=_briefing(environment.store, session, guidance, environment.now))
    if session.parent:
        return guidance
    return replace(
        guidance,
        results=_result_files(environment, session),
        sent=_sent_work(environment, session),
    )


def _briefing(store: Store, session: Session, guidance: Guidance, now: str) -> Briefing:
    done, earlier, dispatches = _done(store, session)
    with_a_step = {step.note for step in done}
    noted = [note.text for note in session.notes if note.text not in with_a_step]
    children = children_of(store, (*dispatches, *session.dispatches))
    for dispatch in (*dispatches, *session.dispatches):
        child = children.get(dispatch.child)
        for note in child.notes if child is not None else ():
            about = (
                shortened(in_words(dispatch.item), LONGEST_ITEM) if dispatch.item is not None else note.step
            )
            noted.append(f"{about}: {note.text}")
    notes = next((file for file in guidance.working_files if file.path == session.notes_path), None)
    return Briefing(
        now=now,
        done=done,
        earlier=earlier,
        noted=tuple(noted[-MOST_NOTED:]),
        already_ran=recent_commands(store, session, now),
        notes=notes,
    )


def recent_commands(store: Store, session: Session, now: str) -> tuple[str, ...]:
    """Return the last shell commands of the current step, each with its exit status and its age, as an agent reads them."""
    commands = shell_history.last(store.folder(session.id), step_entered=session.moved_at)
    return tuple(
        f"`{in_quotes(command.text)}` ({_ended(command.status)}{ago(command.at, now)})"
        for command in commands
    )


def _ended(status: int | None) -> str:
    return "failed, " if status is None else f"exit {status}, "


def _done(store: Store, session: Session) -> tuple[tuple[DoneStep, ...], int, tuple[Dispatched, ...]]:
    """Return the newest reports that were not rewound, the oldest first.

    Return also how many came before them, and the dispatches of the reported steps.
    """
    done: list[DoneStep] = []
    dispatches: tuple[Dispatched, ...] = ()
    revision = session.revision
    for record in store.newest_first(session.id) if revision else ():
        if revision == 0 or len(done) == MOST_STEPS:
            break
        move = record.session.last
        if record.session.revision != revision:
            continue
        if record.kind == "rewind":
            revision = int(record.note["to"])
        elif record.kind == "move" and move is not None:
            done.append(DoneStep(move.step, move.outcome, move.note))
            dispatches = move.dispatches + dispatches
            revision -= 1
    return tuple(reversed(done)), revision, dispatches


def _result_files(environment: Environment, session: Session) -> tuple[WorkingFile, ...]:
    """Return the files that the session's facts name, then those in its folder."""
    project = working_files.project_of(environment, session)
    now = datetime.fromisoformat(environment.now).timestamp()
    named = [_file(path, project, now) for path in _paths(session)]
    files = [*named, *working_files.listed(environment, session)]
    return tuple({file.path: file for file in files if file is not None}.values())[:MOST_FILES]


def _sent_work(environment: Environment, session: Session) -> tuple[SentWork, ...]:
    """Return the handoffs that the session has sent, with the command that receives each.

    One whose payload or target is gone is not among them.
    """
    handoffs = Handoffs(environment.store).all()
    return tuple(
        SentWork(
            handoff.target,
            handoff.phase == ACKNOWLEDGMENT,
            Command(
                "handoff receive",
                payload_path(environment.store, handoff),
                sha256=handoff.sha256,
                root=handoff.root or None,
                store=environment.shown_store,
            ),
        )
        for handoff in handoffs
        if handoff.session == session.id
        and handoff.phase in {INVOCATION, ACKNOWLEDGMENT}
        and not missing_parts(environment.store, handoff)
    )


def _paths(session: Session) -> Iterator[str]:
    """Yield the texts among the session's facts, which can be paths."""
    for value in session.state.values():
        yield from (
            item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, str)
        )


def _file(path: str, project: str, now: float) -> WorkingFile | None:
    """Return a file inside the project by its path, or `None`."""
    relative = os.path.relpath(os.path.join(project, path), project)
    try:
        status = os.lstat(os.path.join(project, relative))
    except (OSError, ValueError):
        return None
    if relative.startswith(os.pardir) or not S_ISREG(status.st_mode):
        return None
    return working_files.described(relative, status, now)
