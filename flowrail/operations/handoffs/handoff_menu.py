"""What a session contributes to the menu of targets: its reported work, and its cache of the menu."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.ranking.scores import Synthesis, read_synthesis
from flowrail.discovery.session_menu_cache import SessionMenu, keep
from flowrail.handoff.chain import chain_of
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store

#: Records after which a cached menu is out of date.
RESUMING = frozenset({"resume", "rewind", "fork", "migrate", "adopt"})


class KnownWork(NamedTuple):
    """What a store knows of a piece of work whose targets are chosen.

    ``receivers`` are the skills that took over work before, ``chain`` those that this work came through.
    """

    receivers: Collection[str]
    chain: Sequence[str]
    synthesis: Synthesis | None


def known_work(store: Store, session_id: str | None, problem_type: str | None) -> KnownWork:
    """Return what is known of the work of a session, or of work that has none."""
    session = store.read(session_id).session if session_id else None
    chain = chain_of(session) if session else ()
    return KnownWork(Handoffs(store.path, store.owner).receivers(), chain, synthesis(session, problem_type))


def synthesis(session: Session | None, problem_type: str | None = None) -> Synthesis | None:
    """Return what *session* reported of its work, or `None` if no problem type is known.

    A given *problem_type* takes precedence over the reported one.
    """
    if session is None:
        return Synthesis(problem_type.lower()) if problem_type else None
    reported = read_synthesis({**session.params, **session.state})
    kind = (problem_type or reported.problem_type).lower()
    return reported._replace(problem_type=kind) if kind else None


def problem_type_of(session: Session) -> str:
    """Return the problem type of *session*: its own, or that of the work that it received."""
    received = session.received.asked.get("problem_type") if session.received else None
    own = synthesis(session)
    return own.problem_type if own else str(received or "").lower()


def menu_cache(
    store: Store,
    session_id: str,
    discovery: Discovery,
    now: datetime,
    *,
    scores: Mapping[str, int] | None = None,
    rescan: bool = False,
) -> SessionMenu:
    """Return the menu cache of a session, written again if it is out of date; see `keep`.

    It lists installed skills only. The bundled ones are always available.
    """
    installed = tuple(c for c in discovery.candidates if c.scope is not Scope.BUNDLED)
    names = {candidate.skill for candidate in installed}
    known = None if scores is None else {skill: score for skill, score in scores.items() if skill in names}
    folder = store.read(session_id).folder
    resumed = _resumed(store, session_id)
    found = discovery._replace(candidates=installed)
    return keep(folder, found, now, scores=known, resumed=resumed, rescan=rescan)


def _resumed(store: Store, session_id: str) -> datetime | None:
    stamps = [record.at for record in store.records(session_id) if record.kind in RESUMING]
    try:
        moment = datetime.fromisoformat(stamps[-1]) if stamps else None
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)  # the time is unreadable: no cache is valid
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment else None
