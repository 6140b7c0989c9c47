"""What a session has to do with a menu: what it has shown so far, and where it keeps what it was offered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.ranking.scores import Synthesis, read_synthesis
from flowrail.discovery.session_menu_cache import SessionMenu, keep
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store

#: Records after which a session stands elsewhere, or with somebody else, than when it was offered something.
RESUMING = frozenset({"resume", "rewind", "fork", "migrate", "adopt"})


def synthesis(session: Session | None, problem_type: str | None = None) -> Synthesis | None:
    """Return what *session* was given and has reported of its work; `None` where no problem type is known.

    A *problem_type* that is given counts before the one that the session reported.
    """
    if session is None:
        return Synthesis(problem_type.lower()) if problem_type else None
    shown = read_synthesis({**session.params, **session.state})
    kind = (problem_type or shown.problem_type).lower()
    return shown._replace(problem_type=kind) if kind else None


def problem_type_of(session: Session) -> str:
    """Return the problem type that a payload of *session* has: its own, or that of the work it took over."""
    asked = session.received.get("asked")
    before = asked.get("problem_type") if isinstance(asked, Mapping) else None
    own = synthesis(session)
    return own.problem_type if own else str(before or "").lower()


def kept_for(
    store: Store,
    session_id: str,
    discovery: Discovery,
    now: datetime,
    *,
    scores: Mapping[str, int] | None = None,
    rescan: bool = False,
) -> SessionMenu:
    """Return the cache of a session, written anew where it is not good any more; see `keep`.

    It is about what is installed: the bundled skills are there in any case.
    """
    installed = tuple(each for each in discovery.candidates if each.scope is not Scope.BUNDLED)
    names = {each.skill for each in installed}
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
        return datetime.max.replace(tzinfo=UTC)  # when, it does not say: no cache outlives that
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment else None
