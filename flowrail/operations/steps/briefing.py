"""The first paragraph for an agent that continues a session and may not remember it, and the session's working files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from flowrail.evidence import shell_history
from flowrail.formatters.guidance.step_output import params_text
from flowrail.machines.guidance.agent_work import AgentCount
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.session import Move, Session
from flowrail.machines.session_store import Store
from flowrail.operations.environment import Environment
from flowrail.operations.steps import working_files
from flowrail.operations.steps.dispatched_work import children_of
from flowrail.session_status import OPEN
from flowrail.text.phrases import ago, count, duration, in_words, size
from flowrail.text.safe_text import in_quotes, one_line, shortened

MOST_STEPS = 12
"""A briefing names at most this many reports, the newest."""
MOST_NOTED = 20
"""A briefing has at most this many notes, the newest."""
LONGEST_ITEM, LONGEST_NOTE = 40, 300


def with_past(environment: Environment, session: Session, guidance: Guidance) -> Guidance:
    """Return *guidance* with working files, and for an open session with a briefing."""
    guidance = replace(guidance, working_files=working_files.listed(environment, session))
    if not session.is_open:
        return guidance
    return replace(guidance, briefing=_briefing(environment.store, session, guidance, environment.now))


def _briefing(store: Store, session: Session, guidance: Guidance, now: str) -> str:
    """Return the text that an agent reads first when it continues a session: one paragraph, without commands."""
    moves, earlier = _newest_moves(store, session)
    done = ", ".join(
        f"{move.step} ({'; '.join(filter(None, (move.outcome, shortened(move.note, LONGEST_NOTE))))})"
        for move in moves
    )
    noted = [shortened(text, LONGEST_NOTE).rstrip(".") for text in _noted(store, session, moves)]
    notes = next((file for file in guidance.working_files if file.path == session.notes_path), None)
    file_text = (
        f"{one_line(notes.path)} ({size(notes.bytes)}, changed {duration(notes.seconds)} ago)"
        if notes
        else ""
    )
    last_report = f", last report {one_line(ago(session.moved_at, now))}" if moves else ""
    agents = [(dispatch.status, dispatch.moved_at) for dispatch in guidance.dispatches]
    sentences = {
        "Parameters: ": params_text(session.params),
        "Started ": f"{one_line(ago(session.started_at, now))}{last_report}",
        "Done so far: ": ", then ".join(
            filter(None, [count(earlier, "earlier report") if earlier else "", done])
        )
        or "nothing yet",
        "Also noted: ": "; ".join(noted[-MOST_NOTED:]),
        "In this step you already ran: ": ", ".join(recent_commands(store, session, now)),
        "Notes: ": file_text,
        "": agents_progress(agents, now),
    }
    ended = (
        f"{name}{text}{'' if text.endswith(('.', '!', '?')) else '.'}"
        for name, text in sentences.items()
        if text
    )
    return " ".join(["You are continuing.", *ended])


def _noted(store: Store, session: Session, moves: Sequence[Move]) -> Iterator[str]:
    """Yield the notes of a session that do not belong to one of these reports, and those of its sub-agents."""
    with_a_step = {move.note for move in moves}
    yield from (note.text for note in session.notes if note.text not in with_a_step)
    dispatches = [*(dispatch for move in moves for dispatch in move.dispatches), *session.dispatches]
    children = children_of(store, dispatches)
    for dispatch in dispatches:
        child = children.get(dispatch.child)
        for note in child.notes if child is not None else ():
            item = in_words(dispatch.item) if dispatch.item is not None else note.step
            yield f"{shortened(item, LONGEST_ITEM)}: {note.text}"


def recent_commands(store: Store, session: Session, now: str) -> tuple[str, ...]:
    """Return the last shell commands of the current step, each with its exit status and its age, as an agent reads them."""
    commands = shell_history.last(store.folder(session.id), step_entered=session.moved_at)
    return tuple(
        f"`{in_quotes(command.text)}` ({_ended(command.status)}{ago(command.at, now)})"
        for command in commands
    )


def _ended(status: int | None) -> str:
    return "failed, " if status is None else f"exit {status}, "


def agents_progress(agents: Sequence[tuple[str, str]], now: str) -> str:
    """Return how far the sub-agents of a step are, with the oldest of their last reports.

    *agents* has the status of each, and when it last moved.
    """
    text = AgentCount.of(status for status, _ in agents).text
    at_work = [moved_at for status, moved_at in agents if status in OPEN]
    return f"{text} (last report {ago(min(at_work), now)})" if at_work else text


def _newest_moves(store: Store, session: Session) -> tuple[list[Move], int]:
    """Return the newest reports that were not rewound, the oldest first, and how many came before them."""
    moves: list[Move] = []
    revision = session.revision
    for record in store.newest_first(session.id) if revision else ():
        if revision == 0 or len(moves) == MOST_STEPS:
            break
        move = record.session.last
        if record.session.revision != revision:
            continue
        if record.kind == "rewind":
            revision = int(record.note["to"])
        elif record.kind == "move" and move is not None:
            moves.insert(0, move)
            revision -= 1
    return moves, revision
