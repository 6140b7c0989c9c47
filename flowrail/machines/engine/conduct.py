"""What a record must be, given the one before it: the judgement by which it was written, made again.

Pure. A move is judged again by the engine where the definition at hand is the one it was made under and
no code is needed that is not kept; else by its shape: that it goes on from where the session stood, by a
way that the step has where that is known. Every other record must leave the session where it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from flowrail.errors import FlowError
from flowrail.machines.definition.graph import passing_over
from flowrail.machines.definition.serialization import CodeNotStoredError
from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import questions
from flowrail.machines.engine.advance import (
    ENDS,
    WORDS,
    advance,
    start,
)
from flowrail.machines.engine.migration import given_params
from flowrail.machines.sessions.host_binding import HELD
from flowrail.machines.sessions.session import (
    ABANDONED,
    STATUSES,
    WAITING,
    Move,
    Report,
    Session,
)
from flowrail.storage.journal import Record
from flowrail.storage.records import to_plain
from flowrail.text.safe_text import shortened

LONGEST_REFUSAL = 400
"""So much of what the engine says is told: it may name every fact of a record."""
BEGINS = frozenset({"start", "fork"})
MOVES = frozenset({"move", "rewind", "migrate"})
ENGINE, SHAPE = "engine", "shape"
_FIXED = ("id", "skill", "source", "started_at", "parent", "received")
_STANDING = (
    "step",
    "revision",
    "params",
    "visits",
    "moved_at",
    "last",
    "graph",
    "here",
    "entered",
    "decided",
)


class Arrival(NamedTuple):
    """What is remembered of how a session came to a revision: where it stood, and what it knew."""

    step: str | None
    known: str


class Judged(NamedTuple):
    """What is wrong with a record, and how a move was judged."""

    problems: tuple[str, ...]
    how: str = ""


def arrival_of(session: Session, names: Mapping[str, str] | None = None) -> Arrival:
    """Return what is to be remembered of *session*, its step under the name that it has since."""
    known = json.dumps([to_plain(session.state), to_plain(session.params)], sort_keys=True)
    step = session.step if session.step is None else (names or {}).get(session.step, session.step)
    return Arrival(step, sha256(known.encode()).hexdigest())


def judge(
    before: Session | None,
    record: Record,
    workflow: Workflow | None,
    then: Mapping[int, Arrival] | None = None,
) -> Judged:
    """Return what is wrong with *record*, which follows *before*.

    *workflow* is the one it was made under, if that is known; *then* holds how each revision was come to.
    """
    session = record.session
    general = [*_form(session, workflow), *([] if before is None else _fixed(before, session))]
    if before is None:
        found, how = _begun(record, workflow)
    elif record.kind == "move":
        found, how = _moved(before, record, workflow)
    else:
        judged = {"rewind": _rewound, "migrate": _migrated}.get(record.kind, _still)
        found, how = list(judged(before, record, then or {})), ""
    return Judged((*general, *found), how)


def essence(session: Session) -> Any:
    """Return what of *session* follows from its definition and reports alone, as plain data.

    Texts of questions and the names of agents are left out: they may change without the graph. So is the
    conversation that goes on with it.
    """
    plain = to_plain(session._replace(host={}))
    plain["questions"] = [
        [each["id"], each.get("source"), [option.get("outcome") for option in each.get("options", ())]]
        for each in plain["questions"]
    ]
    plain["dispatches"] = [
        [each["id"], each.get("workflow"), each.get("item")] for each in plain["dispatches"]
    ]
    return json.loads(json.dumps(plain))


def _form(session: Session, workflow: Workflow | None) -> Iterator[str]:
    if session.status not in STATUSES:
        yield f"`{session.status}` is no status"
    if session.is_open:
        waits = any(question.is_open for question in questions.asked(session))
        if waits != (session.status == WAITING):
            yield f"the status is {session.status}, and {'a' if waits else 'no'} question is open"
        if session.step is None:
            yield "the session is open and stands at no step"
    if session.step is not None and workflow is not None and session.step not in workflow:
        yield f"the workflow has no step `{session.step}`"


def _fixed(before: Session, after: Session) -> list[str]:
    return [
        f"`{name}` is another than before" for name in _FIXED if getattr(before, name) != getattr(after, name)
    ]


def _begun(record: Record, workflow: Workflow | None) -> tuple[list[str], str]:
    session = record.session
    found = [] if record.kind in BEGINS else [f"the journal begins with `{record.kind}`"]
    if session.last is not None:
        found.append("the first record tells of a move")
    if record.kind == "fork":
        return found, ""
    if session.revision:
        found.append(f"the session begins at revision {session.revision}")
    if workflow is None:
        return found, ""
    if not session.params.keys() <= workflow.params.keys():
        return [*found, "there are parameters that the workflow does not have"], ""
    try:
        again = start(
            workflow,
            given_params(session, workflow),
            session_id=session.id,
            source=session.source,
            now=session.started_at,
            parent=session.parent,
        )
    except FlowError as error:
        return [*found, f"the workflow cannot be started so: {shortened(error.message, LONGEST_REFUSAL)}"], ""
    return [*found, *_differences(again._replace(received=session.received), session)], ""


def _moved(before: Session, record: Record, workflow: Workflow | None) -> tuple[list[str], str]:
    after, move = record.session, record.session.last
    if move is None:
        return ["a move is recorded without what was reported"], SHAPE
    found = list(_shape(before, after, move))
    if workflow is None:
        return found, SHAPE
    handed_out = record.note.get("dispatches")
    before = before._replace(dispatches=tuple(handed_out)) if handed_out else before
    try:
        again = advance(workflow, before, Report(move.reported, move.facts), now=move.at)
    except CodeNotStoredError:
        return [*found, *_by_graph(workflow, move)], SHAPE
    except FlowError as error:
        return [
            *found,
            f"the engine refuses what was reported: {shortened(error.message, LONGEST_REFUSAL)}",
        ], ENGINE
    return found or _differences(again, after), ENGINE


def _shape(before: Session, after: Session, move: Move) -> Iterator[str]:
    if not before.is_open:
        yield f"the session was {before.status} already"
    if move.step != before.step:
        yield f"step `{move.step}` was reported where the session stood at `{before.step}`"
    if move.to != after.step:
        yield f"the move leads to `{move.to}`, and the session stands at `{after.step}`"
    if after.revision != before.revision + 1:
        yield f"revision {before.revision} is followed by {after.revision}"
    if (move.to is None) == after.is_open:
        yield f"the session is {after.status} at step `{after.step}`"
    if any(name not in after.state for name in (*before.state, *move.facts)):
        yield "facts are gone from the state"
    ends = (end for end, status in ENDS.items() if status == after.status)  # they are counted too
    entered = move.to or next(ends, "")
    if dict(after.visits) != {**before.visits, entered: before.visits.get(entered, 0) + 1}:
        yield "the visits are not those before with one more of the step that was entered"


def _by_graph(workflow: Workflow, move: Move) -> Iterator[str]:
    """Yield what is wrong with a move of a step that code decides: only its way can be judged."""
    step = workflow.get(move.step)
    if step is None or move.outcome not in WORDS:
        if move.outcome != "stop":
            yield f"`{move.outcome}` of step `{move.step}` is no way on"
        return
    taken = Outcome.OK if move.capped else WORDS[move.outcome]
    if taken not in step.ways:
        yield f"step `{move.step}` has no way on for `{taken}`"
        return
    at = step.way(taken)
    for passed in move.passed:
        over = workflow.get(passed)
        way = passing_over(over) if over is not None else None
        if passed != at or over is None or way is None:
            yield f"step `{passed}` cannot have been passed over"
            return
        at = over.way(way)
    if at != move.to:
        yield f"`{taken}` of step `{move.step}` leads to `{at}`, not to `{move.to}`"


def _rewound(before: Session, record: Record, then: Mapping[int, Arrival]) -> Iterator[str]:
    after, to = record.session, record.note.get("to")
    if after.revision != before.revision + 1:
        yield f"revision {before.revision} is followed by {after.revision}"
    if after.last is not None:
        yield "a rewound session tells of a move"
    if not isinstance(to, int) or to not in then:
        yield f"the session never was at revision {to}"
    elif then[to] != arrival_of(after):
        yield f"the session is not as it was at revision {to}"


def _migrated(before: Session, record: Record, _then: Mapping[int, Arrival]) -> Iterator[str]:
    after, names = record.session, record.note.get("renamed") or {}
    if after.revision not in {before.revision, before.revision + 1}:
        yield f"revision {before.revision} is followed by {after.revision}"
    if before.step is not None and after.step != names.get(before.step, before.step):
        yield f"step `{before.step}` became `{after.step}`, which the record does not say"
    if after.state != before.state:
        yield "a migration changed the state"


def _still(before: Session, record: Record, _then: Mapping[int, Arrival]) -> Iterator[str]:
    after = record.session
    for name in _STANDING:
        if getattr(before, name) != getattr(after, name):
            yield f"a record of the kind `{record.kind}` changed `{name}`"
    if record.kind == "limit":
        if any(name not in after.state for name in before.state):
            yield "facts are gone from the state"
    elif before.state != after.state:
        yield f"a record of the kind `{record.kind}` changed the state"
    if record.kind == HELD and after._replace(host=before.host) != before:
        yield "a record that an agent was held changed more than how often it was"
    ends = record.kind in {"abandon", "fork"} and after.status == ABANDONED
    if before.is_open != after.is_open and not ends:
        yield f"a record of the kind `{record.kind}` made the session {after.status}"


def _differences(again: Session, recorded: Session) -> list[str]:
    one, other = essence(again), essence(recorded)
    return [
        f"`{name}` is {_short(other[name])}; by the workflow it is {_short(one[name])}"
        for name in one
        if one[name] != other[name] and name != "format"
    ]


def _short(value: Any, longest: int = 80) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
