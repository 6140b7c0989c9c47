"""The skills that can take over a session's work, saved in its folder as `available-workflows.yaml`.

While the file is valid, menus read it and nothing is scanned. It is valid for 30 minutes, unless the session was
resumed or a new scan was requested. Each entry begins with the seven keys of the discovery documents; the keys after
them are what else a menu needs.
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
from flowrail.text import limits
from flowrail.text import yaml as yaml_text

FILE = OFFERED
TTL_MINUTES = 30
_SKEW = timedelta(minutes=5)
_FIRST = ("skill", "scope", "priority", "categories", "description", "trigger")
_LEFT_OUT = frozenset({"notes", "origins", "overridden", "hides", "hidden_by"})
_BARE = Candidate("", Scope.GLOBAL, "")
_TYPES: Mapping[str, Any] = {"scope": str, "health_check": str | None, "autonomous": bool | None}
"""The types of fields whose default does not show them."""


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
    """How a menu was made: from the cache at ``path``, or from a new scan for this ``reason``.

    ``timestamp`` is when the skills were found.
    """

    path: str
    timestamp: datetime
    used: bool
    reason: str = ""

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
    """Write the cache of a session's *folder* and return its path. Scores are null until the work is ranked."""
    path = os.path.join(folder, FILE)
    known = scores or {}
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = yaml_text.dump(
        {
            "discovery": {"timestamp": moment, "ttl_minutes": TTL_MINUTES},
            "workflows": [_entry(candidate, known.get(candidate.skill)) for candidate in candidates],
        }
    )
    files.write_atomic(path, text.encode(), durable=False)
    return path


def _entry(candidate: Candidate, score: int | None) -> dict[str, object]:
    data = {name: _plain(value) for name, value in candidate._asdict().items()}
    bare = _BARE._asdict()
    others = {
        name: value
        for name, value in data.items()
        if name not in {*_FIRST, *_LEFT_OUT} and value != _plain(bare[name])
    }
    return {**{name: data[name] for name in _FIRST}, "relevance_score": score, **others}


def _plain(value: object) -> object:
    if isinstance(value, Scope):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _menu(document: Any) -> CachedMenu:
    head, workflows = document["discovery"], document["workflows"]
    moment = datetime.fromisoformat(head["timestamp"])
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    ttl = max(0, min(int(head["ttl_minutes"]), TTL_MINUTES))
    scores = {item["skill"]: item.get("relevance_score") for item in workflows}
    known = {skill: score for skill, score in scores.items() if isinstance(score, int)}
    return CachedMenu(moment, ttl, tuple(_candidate(item) for item in workflows), known)


def _candidate(item: Mapping[str, Any]) -> Candidate:
    """Return the candidate of an entry; a value of a wrong type raises `TypeError`."""
    fields: dict[str, Any] = {"path": ""}
    for name, default in _BARE._asdict().items():
        if name in _LEFT_OUT or name not in item:
            continue
        value = tuple(item[name]) if isinstance(default, tuple) else item[name]
        texts = value if isinstance(value, tuple) else ()
        if not isinstance(value, _TYPES.get(name, type(default))) or any(
            not isinstance(t, str) for t in texts
        ):
            raise TypeError(name)
        fields[name] = value
    return Candidate(**{**fields, "scope": Scope(str(fields["scope"]))})
