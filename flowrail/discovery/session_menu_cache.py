"""What a session was offered: good for its time to live, else found and written anew.

The file that `cache` reads and writes lists the skills and nothing else about them, so a menu needs a
discovery in any case. What the cache adds is that the same skills are offered as before, for as long
as nothing has changed, and what they scored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from flowrail.discovery import menu_cache
from flowrail.discovery.index import Discovery


class Kept(NamedTuple):
    """The cache of a session: ``used``, or written anew and for which ``reason``.

    ``timestamp`` is when its skills were found, ``scores`` what they scored then or now.
    """

    path: str
    timestamp: datetime
    used: bool
    reason: str = ""
    scores: Mapping[str, int] = {}

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {**self._asdict(), "timestamp": self.timestamp.isoformat(), "scores": dict(self.scores)}


def keep(
    folder: str,
    discovery: Discovery,
    now: datetime,
    *,
    scores: Mapping[str, int] | None = None,
    resumed: datetime | None = None,
    rescan: bool = False,
) -> Kept:
    """Return the cache in the session's *folder*, written anew where it is not good any more.

    *scores* are written in either case; those known before stay where there are none now. *resumed* is
    when the session was last taken up again. Raises StorageError where nothing can be written.
    """
    candidates = discovery.candidates
    before = menu_cache.read(folder)
    found, reason = menu_cache.current(
        folder,
        now,
        roots=discovery.places.usable,
        files=[discovery.registry.path, *(each.path for each in (*candidates, *discovery.hidden))],
        resumed=bool(before and resumed and resumed > before.timestamp),
        rescan=rescan,
    )
    if found and {each.skill for each in found.workflows} != {each.skill for each in candidates}:
        found, reason = None, "other skills are in sight than then"
    if found is None:
        path = menu_cache.write(folder, candidates, now, scores)
        return Kept(path, now, False, reason, scores or {})
    known = {each.skill: each.relevance_score for each in found.workflows if each.relevance_score is not None}
    if scores and dict(scores) != known:
        menu_cache.write(folder, candidates, found.timestamp, scores)
    return Kept(os.path.join(folder, menu_cache.FILE), found.timestamp, True, "", scores or known)
