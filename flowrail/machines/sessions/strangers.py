"""The parts of a session that are plain data to the journal, looked at where somebody else wrote them.

Our own records hold what we put there. A session that came with a clone, or was taken over from one, may
hold anything in them, also where its hashes are right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from flowrail.errors import FlowError
from flowrail.machines.definition.gates import Severity
from flowrail.machines.definition.step import WORKFLOW_NAME, Outcome
from flowrail.machines.engine import agents, questions, reviews
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Session

_in_json = json.JSONEncoder(ensure_ascii=False).encode
LONGEST_NAME = 200
NOTHING_TOLD = "FR115"
"""No mistake in what is kept: a text that code makes is not."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
"""What every id of ours is, whatever it is of: a word that no shell and no option takes for anything else."""


class StrangeError(ValueError):
    """A part of a session is not of the form that it has in every session of ours."""


def check_session(session: Session) -> None:
    """Raise `StrangeError`, naming the part, where *session* is of a form that none of ours has."""
    check_parts(session)
    for name, wrong in chain(_wrong(session), _unanswerable(session), _misnamed(session)):
        raise StrangeError(f"`{name}` {wrong}")


def check_parts(session: Session) -> None:
    """Raise `StrangeError` where dispatches, questions, findings or grants of *session* cannot be read at all."""
    for name, read in (
        ("dispatches", agents.states),
        ("questions", questions.asked),
        ("findings", reviews.findings),
    ):
        try:
            read(session)
        except ValueError as error:
            raise StrangeError(f"`{name}` is of another form: {str(error)[:LONGEST_NAME]}") from None
    if any(each.severity not in Severity.__members__ for each in reviews.findings(session)):
        raise StrangeError("`findings` has one of a severity that nobody knows")
    for step, grants in session.grants.items():
        if grants is not None and not _is_grant(grants):
            raise StrangeError(f"`grants` holds no grant of ours for `{step[:60]}`")


def check_record(record: Record) -> None:
    """Raise `StrangeError` where a record's session, or the work that its note tells of, cannot be read."""
    check_parts(record.session)
    told = record.note.get("dispatches")
    if told:
        check_parts(record.session._replace(dispatches=tuple(told)))


def check_definition(kept: Mapping[str, Any]) -> None:
    """Raise `StrangeError` where what a session keeps of its workflow is none that could have been begun."""
    from flowrail.machines.definition.serialization import from_plain
    from flowrail.machines.definition.validation import raw_findings

    try:
        found = raw_findings(from_plain(kept["workflow"]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, FlowError) as error:
        raise StrangeError(
            f"it holds no workflow ({type(error).__name__}: {str(error)[:LONGEST_NAME]})"
        ) from None
    for each in found:
        if each.severity == "error" and each.code != NOTHING_TOLD:
            raise StrangeError(f"its workflow is in error: {each.message[:LONGEST_NAME]}")
    try:
        _in_json(kept["workflow"]).encode()
        _in_json({name: each for name, each in kept.items() if name != "workflow"}).encode(
            errors="surrogateescape"  # names of files may be any bytes
        )
    except (UnicodeEncodeError, RecursionError):
        raise StrangeError("it holds half a character, which no text has") from None


def _wrong(session: Session) -> Iterator[tuple[str, str]]:
    for name in ("id", "skill", "source", "status", "step", "started_at", "moved_at"):
        value = getattr(session, name)
        if value is not None and len(value) > LONGEST_NAME:
            yield name, f"has more than {LONGEST_NAME} characters"
    for name, kinds in _MAPPINGS.items():
        for key, value in getattr(session, name).items():
            if not isinstance(value, kinds.get(key, object)):
                yield name, f"holds a {type(value).__name__} at `{key[:60]}`"
    children = [each["child"] for each in session.dispatches if each.get("child") is not None]
    if len({*children}) < len(children):
        yield "dispatches", "gives two pieces of work to one session"
    if session.parent and not {"session", "dispatch"} <= session.parent.keys():
        yield "parent", "names no session and dispatch"
    if session.received and "payload" not in session.received:
        yield "received", "names no payload"


def _unanswerable(session: Session) -> Iterator[tuple[str, str]]:
    for each in questions.asked(session):
        outcomes = {each.other, *(option.outcome for option in each.options)} - {None}
        known = _ANSWERS.get(each.source)
        if known is not None and not outcomes <= known:
            yield "questions", "has an answer that stands for no outcome"


def _misnamed(session: Session) -> Iterator[tuple[str, str]]:
    for name, value in _ids(session):
        if value is not None and not _ID.match(value):
            yield name, "has an id that is none of ours"
    for name, value in (("skill", session.skill), *_workflows(session)):
        if not WORKFLOW_NAME.match(value):
            yield name, "has a name that no workflow has"


def _ids(session: Session) -> Iterator[tuple[str, str | None]]:
    """Yield every id that becomes part of a command or a hint, with the part that it is of."""
    yield from (("id", session.id), ("step", session.step))
    yield from (("parent", session.parent.get(name)) for name in ("session", "dispatch"))
    for each in agents.states(session):
        yield from (("dispatches", each.id), ("dispatches", each.child))
    yield from (("questions", each.id) for each in questions.asked(session))
    yield from (("findings", each.id) for each in reviews.findings(session))


def _workflows(session: Session) -> Iterator[tuple[str, str]]:
    yield from (("dispatches", each.workflow) for each in agents.states(session) if each.workflow)


_ANSWERS: Mapping[str, frozenset[str]] = {
    questions.BY_STEP: frozenset(Outcome),
    questions.BY_LIMIT: frozenset({questions.ANOTHER, questions.MUST_ONLY, questions.ACCEPT, questions.STOP}),
}
_MAPPINGS: Mapping[str, Mapping[str, Any]] = {
    "parent": {"session": str, "dispatch": str},
    "received": {
        "handoff": str,
        "payload": str,
        "sha256": str,
        "from": str,
        "chain": (list, tuple),
        "hops": int,
    },
}


def _is_grant(grants: object) -> bool:
    return isinstance(grants, Mapping) and all(
        isinstance(grants.get(name, 0), int) for name in ("rounds", "another")
    )
