"""A summary of a session: for an agent that continues it and may not remember it, or after its end."""

from __future__ import annotations

from dataclasses import replace

from flowrail.evidence import shell_history
from flowrail.machines.guidance.guide import Briefing, DoneStep, Guidance
from flowrail.machines.session import Dispatched, Session
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


def with_past(environment: Environment, session: Session, guidance: Guidance) -> Guidance:
    """Return *guidance* with working files, and for an open session with a briefing."""
    guidance = replace(guidance, working_files=working_files.listed(environment, session))
    if not session.is_open:
        return guidance
    return replace(guidance, briefing=_briefing(environment.store, session, guidance, environment.now))


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
