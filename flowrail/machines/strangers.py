"""The parts of a session that are plain data to the journal, looked at where somebody else wrote them.

Our own records hold what we put there. A session that came with a clone, or was taken over from one, may
hold anything in them, also where its hashes are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flowrail.machines import asking, dispatching, reviewing
from flowrail.machines.ledger import Record
from flowrail.machines.session import Session

LONGEST_NAME = 200


class StrangeError(ValueError):
    """A part of a session is not of the form that it has in every session of ours."""


def check_session(session: Session) -> None:
    """Raise `StrangeError`, naming the part, where *session* is of a form that none of ours has."""
    check_parts(session)
    for name, wrong in _wrong(session):
        raise StrangeError(f"`{name}` {wrong}")


def check_parts(session: Session) -> None:
    """Raise `StrangeError` where dispatches, questions, findings or grants of *session* cannot be read at all."""
    for name, read in (
        ("dispatches", dispatching.states),
        ("questions", asking.asked),
        ("findings", reviewing.findings),
    ):
        try:
            read(session)
        except ValueError as error:
            raise StrangeError(f"`{name}` is of another form: {str(error)[:LONGEST_NAME]}") from None
    for step, grants in session.grants.items():
        if grants is not None and not _is_grant(grants):
            raise StrangeError(f"`grants` holds no grant of ours for `{step[:60]}`")


def check_record(record: Record) -> None:
    """Raise `StrangeError` where a record's session, or the work that its note tells of, cannot be read."""
    check_parts(record.session)
    told = record.note.get("dispatches")
    if told:
        check_parts(record.session._replace(dispatches=tuple(told)))


def _wrong(session: Session) -> Iterator[tuple[str, str]]:
    for name in ("id", "skill", "source", "status", "step", "started_at", "moved_at"):
        value = getattr(session, name)
        if value is not None and len(value) > LONGEST_NAME:
            yield name, f"has more than {LONGEST_NAME} characters"
    for name, kinds in _MAPPINGS.items():
        for key, value in getattr(session, name).items():
            if not isinstance(value, kinds.get(key, object)):
                yield name, f"holds a {type(value).__name__} at `{key[:60]}`"
    if session.parent and not {"session", "dispatch"} <= session.parent.keys():
        yield "parent", "names no session and dispatch"
    if session.received and "payload" not in session.received:
        yield "received", "names no payload"


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
