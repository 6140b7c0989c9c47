"""The menu of targets for a session: the facts that it reported, and its cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from flowrail.discovery.index import Discovery
from flowrail.discovery.menu_cache import FILE, CacheUse, read, write
from flowrail.discovery.ranking.menu import RELEVANCE, Menu
from flowrail.discovery.ranking.scores import Synthesis, read_synthesis
from flowrail.handoff.chain import chain_of
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store
from flowrail.text.phrases import moment

#: Records after which a cached menu is out of date.
RESUMING = frozenset({"resume", "rewind", "fork", "migrate", "adopt"})


class KnownWork(NamedTuple):
    """What is known about the work to hand off.

    ``session`` did the work, if it is known. ``receivers`` are the skills that received work before, ``chain`` those
    that handed this work on.
    """

    session: Session | None
    receivers: Collection[str]
    chain: Sequence[str]
    synthesis: Synthesis | None


def known_work(store: Store, session_id: str | None, problem_type: str | None) -> KnownWork:
    """Return the known facts about the work of a session, or about work without one."""
    session = store.read(session_id).session if session_id else None
    chain = chain_of(session) if session else ()
    return KnownWork(session, Handoffs(store).receivers(), chain, synthesis(session, problem_type))


def synthesis(session: Session | None, problem_type: str | None = None) -> Synthesis | None:
    """Return the known facts about the work of *session*, or `None`.

    The problem type is *problem_type* if given, otherwise the reported one, otherwise that of the received handoff.
    """
    if session is None:
        return Synthesis(problem_type.strip().lower()) if problem_type else None
    reported = read_synthesis({**session.params, **session.state})
    received = session.received.asked.get("problem_type") if session.received else None
    known = problem_type or reported.problem_type or str(received or "")
    updated = reported._replace(problem_type=known.strip().lower())
    return updated if any(updated) else None


def find_targets(
    store: Store,
    session_id: str | None,
    now: datetime,
    scan: Callable[[], Discovery],
    *,
    rescan: bool = False,
) -> tuple[Discovery, CacheUse | None]:
    """Return the skills that can take over: from the session's cache while it is valid, otherwise from a scan.

    A scan for a session writes the cache.
    """
    if session_id is None:
        return scan(), None
    store.read(session_id)  # refuses an unknown or foreign session
    folder = store.folder(session_id)
    path = os.path.join(folder, FILE)
    cached = None if rescan else read(folder)
    reason = "a new scan was requested" if rescan else "no cache was found"
    if cached is not None:
        reason = cached.stale(now, resumed=_resumed(store, session_id))
        if not reason:
            discovery = Discovery(cached.candidates, skills=len(cached.candidates))
            return discovery, CacheUse(path, cached.timestamp, used=True)
    discovery = scan()
    problem = write(folder, discovery.candidates, now)
    return discovery, CacheUse(path, now, used=False, reason=reason, problem=problem)


def keep_scores(store: Store, session_id: str, discovery: Discovery, use: CacheUse, menu: Menu) -> None:
    """Write the relevance scores of a menu to the session's cache, if they are new."""
    folder = store.folder(session_id)
    cached = read(folder)
    if menu.asked.scorer == RELEVANCE and cached is not None and dict(cached.scores) != menu.scores:
        write(folder, discovery.candidates, use.timestamp, menu.scores)


def _resumed(store: Store, session_id: str) -> datetime | None:
    stamps = [record.at for record in store.records(session_id) if record.kind in RESUMING]
    return moment(stamps[-1]) if stamps else None
