"""A summary of a session: for an agent that continues it and may not remember it, or after its end."""

from __future__ import annotations

from dataclasses import replace

from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.views import Briefing, DoneStep
from flowrail.machines.session import Dispatched, Session
from flowrail.machines.session_store import Store
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.running import results, session_files
from flowrail.operations.running.child_sessions import children_of
from flowrail.text.phrases import in_words
from flowrail.text.safe_text import shortened

MOST_STEPS = 12
"""A briefing names at most this many reports, the newest."""
MOST_NOTED = 20
"""A briefing has at most this many notes, the newest."""
LONGEST_ITEM = 40


def with_past(environment: Environment, session: Session, workflow: Workflow, guidance: Guidance) -> Guidance:
    """Return *guidance* with working files, and a briefing, or the results after the end."""
    guidance = replace(guidance, working_files=session_files.listed(environment, session))
    if session.is_open:
        return replace(
            guidance, briefing=_briefing(environment.store, session, workflow, guidance, environment.now)
        )
    if session.parent:
        return guidance
    return replace(
        guidance,
        results=results.result_files(environment, session),
        sent=results.sent_work(environment, session),
    )


def _briefing(store: Store, session: Session, workflow: Workflow, guidance: Guidance, now: str) -> Briefing:
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
    has_notes = notes is not None or (session.revision > 0 and _uses_notes(workflow))
    return Briefing(
        now=now,
        done=done,
        earlier=earlier,
        noted=tuple(noted[-MOST_NOTED:]),
        notes_path=session.notes_path if has_notes else "",
        notes=notes,
    )


def _uses_notes(workflow: Workflow) -> bool:
    """Return whether the instructions of a step ask the agent to keep notes."""
    texts = (step.actions for step in workflow.steps if not callable(step.actions))
    return any("$notes" in str(text) for actions in texts for text in actions)


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
