"""Where skills live, which are there, which fits.

    locations ─▶ scan ─▶ index ─▶ ranking ─▶ why
                  │        ▲
    head, frontmatter,     └── registry (registry_document: strict; registry_sync: writing)
    keys, metadata

`discover` gives all of it as one value. The names below are imported when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowrail.discovery.candidate import Candidate, Skipped
    from flowrail.discovery.diagnostics import Note
    from flowrail.discovery.index import Discovery, discover
    from flowrail.discovery.locations import Root, Scope, skill_roots
    from flowrail.discovery.queries import discover_handoff_targets, find_workflows
    from flowrail.discovery.ranking.scores import (
        Query,
        Ranked,
        Score,
        Synthesis,
        rank,
        rank_for,
        score_query,
        score_relevance,
        shortlist,
    )

__all__ = [
    "Candidate", "Discovery", "Note", "Query", "Ranked", "Root", "Scope", "Score", "Skipped", "Synthesis",
    "discover", "discover_handoff_targets", "find_workflows", "rank", "rank_for",
    "score_query", "score_relevance", "shortlist", "skill_roots",
]  # fmt: skip

_MODULES = {
    "candidate": ("Candidate", "Skipped"),
    "queries": ("discover_handoff_targets", "find_workflows"),
    "index": ("Discovery", "discover"),
    "locations": ("Root", "Scope", "skill_roots"),
    "diagnostics": ("Note",),
    "ranking.scores": (
        "Query",
        "Ranked",
        "Score",
        "Synthesis",
        "rank",
        "rank_for",
        "score_query",
        "score_relevance",
        "shortlist",
    ),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
