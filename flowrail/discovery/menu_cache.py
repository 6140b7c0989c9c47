"""The skills that can take over a session's work, saved in its folder as `available-workflows.yaml`.

While the file is valid, menus read it and nothing is scanned. It is valid for 30 minutes, unless the session was
resumed or a new scan was requested. Each entry begins with the seven keys of the discovery documents; the other keys
are for menus.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.locations import OFFERED, Scope
from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.storage.records import from_plain, to_plain
from flowrail.text import limits
from flowrail.text import yaml as yaml_text

FILE = OFFERED
TTL_MINUTES = 30
_SKEW = timedelta(minutes=5)
_FIRST = ("skill", "scope", "priority", "categories", "description", "trigger")
_LEFT_OUT = frozenset({"notes", "origins", "overridden"})
_BARE = Candidate("", Scope.GLOBAL, "")


class CachedMenu(NamedTuple):
    """The content of a cache: when the skills were found, the skills, and their scores if the work was ranked."""

    timestamp: datetime
    ttl_minutes: int
    candidates: tuple[Candidate, ...]
    scores: Mapping[str, int] = {}

    def stale(self, now: datetime, *, resumed: datetime | None = None) -> str:
        """Return why the cache is invalid, or an empty text. *resumed* is when the session was last resumed."""
        if resumed is not None and resumed > self.timestamp:
            return "the session was resumed"
        if now - self.timestamp > timedelta(minutes=self.ttl_minutes):
            return f"it is older than {self.ttl_minutes} minutes"
        if self.timestamp - now > _SKEW:
            return "its time is in the future"
        return ""


class CacheUse(NamedTuple):
    """The source of a menu: the cache at ``path``, or a new scan for this ``reason``.

    ``timestamp`` is when the skills were found. ``problem`` says why a new scan could not be written to the cache.
    """

    path: str
    timestamp: datetime
    used: bool
    reason: str = ""
    problem: str = ""

    def data(self) -> dict[str, object]:
        """Return the use as plain data, for JSON."""
        return {**self._asdict(), "timestamp": self.timestamp.isoformat()}


def read(folder: str) -> CachedMenu | None:
    """Return the cache in a session's *folder*, or `None` if it is missing or cannot be read."""
    path = os.path.join(folder, FILE)
    try:
        data = files.read_bounded(path, limit=limits.YAML_BYTES, what="the cache")
        return _menu(yaml_text.load(data, source=path).value)
    except (DocumentError, ValueError, TypeError, LookupError, AttributeError):
        return None


def write(
    folder: str, candidates: Iterable[Candidate], now: datetime, scores: Mapping[str, int] | None = None
) -> str:
    """Write the cache of a session's *folder*, and return an error message or an empty text.

    Scores are null until the work is ranked. Without a cache, the next menu only takes longer.
    """
    path = os.path.join(folder, FILE)
    known = scores or {}
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = yaml_text.dump(
        {
            "discovery": {"timestamp": moment, "ttl_minutes": TTL_MINUTES},
            "workflows": [_entry(candidate, known.get(candidate.skill)) for candidate in candidates],
        }
    )
    try:
        files.write_atomic(path, text.encode(), durable=False)
    except files.WriteFailedError as error:
        return error.message
    return ""


def _entry(candidate: Candidate, score: int | None) -> dict[str, object]:
    data, bare = to_plain(candidate), to_plain(_BARE)
    others = {
        name: value
        for name, value in data.items()
        if name not in {*_FIRST, *_LEFT_OUT} and value != bare[name]
    }
    return {**{name: data[name] for name in _FIRST}, "relevance_score": score, **others}


def _menu(document: Any) -> CachedMenu:
    head, workflows = document["discovery"], document["workflows"]
    timestamp = datetime.fromisoformat(head["timestamp"])
    timestamp = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
    ttl = max(0, min(int(head["ttl_minutes"]), TTL_MINUTES))
    scores = {item["skill"]: item.pop("relevance_score", None) for item in workflows}
    ranked = {skill: score for skill, score in scores.items() if isinstance(score, int)}
    entries = [{"path": "", **item, "scope": Scope(item["scope"])} for item in workflows]
    candidates = from_plain(entries, tuple[Candidate, ...])
    return CachedMenu(timestamp, ttl, candidates, ranked)
