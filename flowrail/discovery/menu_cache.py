"""The skills that can take over a session's work, saved in its folder as `available-workflows.yaml`.

While the file is valid, menus read it and nothing is scanned. It is valid for 30 minutes, until the session is
resumed, rewound, migrated or accepted: these commands delete it. Each entry begins with the seven keys of the discovery
documents; the other keys are for menus.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.locations import OFFERED, Scope
from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.text import size_limits
from flowrail.text import yaml as yaml_text

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

    def is_valid(self, now: datetime) -> bool:
        """Return whether it can be used at the moment *now*."""
        age = now - self.discovery.timestamp
        return -_SKEW <= age <= timedelta(minutes=min(self.discovery.ttl_minutes, TTL_MINUTES))


def read(folder: str) -> CachedMenu | None:
    """Return the cache in a session's *folder*, or `None` if it is missing or cannot be read."""
    path = os.path.join(folder, OFFERED)
    try:
        data = files.read_bounded(path, limit=size_limits.YAML_BYTES, what="the cache")
        return TypeAdapter(CachedMenu).validate_python(yaml_text.load(data, source=path).value)
    except (DocumentError, ValidationError):
        return None


def write(
    folder: str,
    candidates: Iterable[Candidate],
    now: datetime,
    scores: Mapping[str, int | None],
) -> None:
    """Write the cache of a session's *folder*. Scores are null until the work is ranked.

    If that fails, the next menu only takes longer.
    """
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = yaml_text.dump(
        {
            "discovery": {"timestamp": moment, "ttl_minutes": TTL_MINUTES},
            "workflows": [_entry(candidate, scores.get(candidate.skill)) for candidate in candidates],
        }
    )
    with suppress(files.WriteFailedError):
        files.write_atomic(os.path.join(folder, OFFERED), text.encode(), durable=False)


def _entry(candidate: Candidate, score: int | None) -> dict[str, object]:
    data = {**vars(candidate), "scope": candidate.scope.value}
    others = {name: value for name, value in data.items() if name not in _FIRST and value != _BARE[name]}
    return {**{name: data[name] for name in _FIRST}, "relevance_score": score, **others}
