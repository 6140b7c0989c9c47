"""The skills that can take over a session's work, saved in its folder as `available-workflows.yaml`.

While the file is valid, menus read it and nothing is scanned. It is valid for 30 minutes, unless the session was
resumed or a new scan was requested. Each entry begins with the seven keys of the discovery documents; the other keys
are for menus.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.locations import OFFERED, Scope
from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.text import size_limits
from flowrail.text import yaml as yaml_text

FILE = OFFERED
TTL_MINUTES = 30
_SKEW = timedelta(minutes=5)
_FIRST = ("skill", "scope", "priority", "categories", "description", "trigger")
_BARE = asdict(Candidate("", Scope.GLOBAL, ""))


@dataclass(frozen=True)
class Search:
    """When the skills of a cache were found."""

    timestamp: AwareDatetime
    ttl_minutes: int = TTL_MINUTES


@dataclass(frozen=True)
class CachedMenu:
    """The content of a cache. The scores are for its readers: a menu computes them again."""

    discovery: Search
    workflows: tuple[Candidate, ...]

    def stale(self, now: datetime, *, resumed: datetime | None = None) -> str:
        """Return why the cache is invalid, or an empty text. *resumed* is when the session was last resumed."""
        found, minutes = self.discovery.timestamp, min(self.discovery.ttl_minutes, TTL_MINUTES)
        if resumed is not None and resumed > found:
            return "the session was resumed"
        if now - found > timedelta(minutes=minutes):
            return f"it is older than {minutes} minutes"
        return "its time is in the future" if found - now > _SKEW else ""


@dataclass(frozen=True)
class CacheUse:
    """The source of a menu: the cache, or a new scan."""

    path: str
    timestamp: str
    """When the skills were found."""
    used: bool
    reason: str = ""
    """Why the cache was not used."""
    problem: str = ""
    """Why a new scan could not be written to the cache."""


def read(folder: str) -> CachedMenu | None:
    """Return the cache in a session's *folder*, or `None` if it is missing or cannot be read."""
    path = os.path.join(folder, FILE)
    try:
        data = files.read_bounded(path, limit=size_limits.YAML_BYTES, what="the cache")
        return TypeAdapter(CachedMenu).validate_python(yaml_text.load(data, source=path).value)
    except (DocumentError, ValidationError):
        return None


def write(
    folder: str,
    candidates: Iterable[Candidate],
    now: datetime,
    scores: Mapping[str, int | None] | None = None,
) -> str:
    """Write the cache of a session's *folder*, and return an error message or an empty text.

    Scores are null until the work is ranked. Without a cache, the next menu only takes longer.
    """
    path = os.path.join(folder, FILE)
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = yaml_text.dump(
        {
            "discovery": {"timestamp": moment, "ttl_minutes": TTL_MINUTES},
            "workflows": [_entry(candidate, (scores or {}).get(candidate.skill)) for candidate in candidates],
        }
    )
    try:
        files.write_atomic(path, text.encode(), durable=False)
    except files.WriteFailedError as error:
        return error.message
    return ""


def _entry(candidate: Candidate, score: int | None) -> dict[str, object]:
    data = {**vars(candidate), "scope": candidate.scope.value}
    others = {name: value for name, value in data.items() if name not in _FIRST and value != _BARE[name]}
    return {**{name: data[name] for name in _FIRST}, "relevance_score": score, **others}
