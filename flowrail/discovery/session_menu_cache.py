"""The skills that a session was offered, saved in its folder as `available-workflows.yaml`.

People and agents read the file, so it has exactly the form that the discovery document shows. It is valid for 30
minutes, unless the session was resumed, a new scan was requested, or a file that it depends on has changed.

It lists the skills without everything that a menu shows about them, so a menu needs a discovery in any case. While the
file is valid, the session is offered the same skills with the same scores.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import OFFERED, Root
from flowrail.discovery.scan.scan import SKILL_FILE
from flowrail.errors import DocumentError
from flowrail.storage import files as storage_files
from flowrail.text import limits
from flowrail.text import yaml as yaml_text

FILE = OFFERED
TTL_MINUTES = 30
#: A file changed so shortly before counts as changed since: clocks tick, and file systems round.
TICK = timedelta(seconds=2)
_SKEW = timedelta(minutes=5)


class SavedWorkflow(NamedTuple):
    """A workflow as the cache has it."""

    skill: str
    scope: str
    priority: int
    categories: tuple[str, ...]
    description: str
    trigger: str
    relevance_score: int | None = None


class SavedMenu(NamedTuple):
    """A cache as read: when it was made, how long it is good for, and what it holds."""

    timestamp: datetime
    ttl_minutes: int
    workflows: tuple[SavedWorkflow, ...]

    def stale(self, now: datetime, *, changed: datetime | None = None, resumed: bool = False) -> str:
        """Return why it is not to be used any more, or nothing where it is good.

        *changed* is when the newest of the files that it rests on did (see `newest_change`).
        """
        if resumed:
            return "the session was resumed"
        if now - self.timestamp > timedelta(minutes=self.ttl_minutes):
            return f"it is older than {self.ttl_minutes} minutes"
        if self.timestamp - now > _SKEW:
            return "it is from the future"
        if changed and changed + TICK > self.timestamp:
            return "a skill has changed since"
        return ""


class SessionMenu(NamedTuple):
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
) -> SessionMenu:
    """Return the cache in the session's *folder*, written anew where it is not good any more.

    *scores* are written in either case; those known before stay where there are none now. *resumed* is
    when the session was last taken up again. Raises StorageError where nothing can be written.
    """
    candidates = discovery.candidates
    before = read(folder)
    found, reason = current(
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
        path = write(folder, candidates, now, scores)
        return SessionMenu(path, now, False, reason, scores or {})
    known = {each.skill: each.relevance_score for each in found.workflows if each.relevance_score is not None}
    if scores and dict(scores) != known:
        write(folder, candidates, found.timestamp, scores)
    return SessionMenu(os.path.join(folder, FILE), found.timestamp, True, "", scores or known)


def document(candidates: Iterable[Candidate], now: datetime, scores: Mapping[str, int] | None = None) -> str:
    """Return the text of the cache; *scores* by skill are null until the work is ranked."""
    known = scores or {}
    workflows = [
        {
            "skill": each.skill,
            "scope": each.scope.value,
            "priority": each.priority,
            "categories": list(each.categories),
            "description": each.description,
            "trigger": each.trigger,
            "relevance_score": int(known[each.skill]) if each.skill in known else None,
        }
        for each in candidates
    ]
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return yaml_text.dump(
        {"discovery": {"timestamp": moment, "ttl_minutes": TTL_MINUTES}, "workflows": workflows}
    )


def write(
    folder: str, candidates: Iterable[Candidate], now: datetime, scores: Mapping[str, int] | None = None
) -> str:
    """Write the cache into the session's *folder* and return its path."""
    path = os.path.join(folder, FILE)
    storage_files.write_atomic(path, document(candidates, now, scores).encode(), durable=False)
    return path


def read(folder: str) -> SavedMenu | None:
    """Return the cache in the session's *folder*, or None where there is none that can be read."""
    path = os.path.join(folder, FILE)
    try:
        data = storage_files.read_bounded(path, limit=limits.YAML_BYTES, what="the cache")
        return _cached(yaml_text.load(data, source=path).value)
    except (DocumentError, ValueError, TypeError, LookupError, AttributeError):
        return None


def current(
    folder: str,
    now: datetime,
    *,
    roots: Iterable[Root],
    files: Iterable[str] = (),
    resumed: bool = False,
    rescan: bool = False,
) -> tuple[SavedMenu | None, str]:
    """Return the cache in *folder* if it is good, else why it is time to discover again.

    *roots* are the places that a discovery would look at now, *files* what else it would read.
    """
    if rescan:
        return None, "a new scan was asked for"
    found = read(folder)
    if found is None:
        return None, "there is no cache that can be read"
    stale = found.stale(now, changed=newest_change(roots, files), resumed=resumed)
    return (None, stale) if stale else (found, "")


def newest_change(roots: Iterable[Root], files: Iterable[str] = ()) -> datetime | None:
    """Return when a root, a skill's folder, its file, or one of *files* changed last, if that can be told."""
    newest = max((_changed(path) for path in _paths(roots, files)), default=0)
    return datetime.fromtimestamp(newest / 1e9, UTC) if newest else None


def _cached(value: Any) -> SavedMenu:
    head = value["discovery"]
    moment = datetime.fromisoformat(head["timestamp"])
    ttl = max(0, min(int(head["ttl_minutes"]), TTL_MINUTES))
    workflows = tuple(_available(**each) for each in value["workflows"])
    return SavedMenu(moment if moment.tzinfo else moment.replace(tzinfo=UTC), ttl, workflows)


def _available(
    *,
    skill: str,
    scope: str,
    priority: int,
    categories: Iterable[str],
    description: str,
    trigger: str,
    relevance_score: int | None = None,
) -> SavedWorkflow:
    texts = (skill, scope, description, trigger, *categories)
    if not all(isinstance(each, str) for each in texts) or not isinstance(relevance_score, int | None):
        raise TypeError("a value of another kind")
    return SavedWorkflow(skill, scope, priority, tuple(categories), description, trigger, relevance_score)


def _paths(roots: Iterable[Root], files: Iterable[str]) -> Iterator[str]:
    yield from files
    for root in roots:
        yield root.path
        with suppress(OSError), os.scandir(root.path) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    yield entry.path
                    yield os.path.join(entry.path, SKILL_FILE)


def _changed(path: str) -> int:
    try:
        about = os.stat(path)
    except OSError:
        return 0
    return max(about.st_mtime_ns, about.st_ctime_ns)
