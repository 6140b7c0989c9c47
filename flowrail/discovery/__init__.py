"""Find the skills that can take over work, and rank them.

    locations ─▶ frontmatter ─▶ declaration ─▶ scan ─▶ index ─▶ scores ─▶ menu
                                                         ▲
                                                         └── registry; `registry_sync` writes it

`discover` returns everything as one value. The names below are imported when they are first used.

Each name is imported when it is first used, because a step imports `flowrail.discovery.locations` and does without pydantic.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowrail.discovery.candidate import Candidate, Skipped
    from flowrail.discovery.index import Discovery, discover
    from flowrail.discovery.locations import Root, Scope, skill_roots
    from flowrail.discovery.queries import discover_handoff_targets, find_workflows
    from flowrail.discovery.scores import (
        Offer,
        Query,
        ScorePart,
        Synthesis,
        rank,
        score_query,
        score_relevance,
        shortlist,
    )

_HOMES = {
    **dict.fromkeys(("Candidate", "Skipped"), "candidate"),
    **dict.fromkeys(("Discovery", "discover"), "index"),
    **dict.fromkeys(("Root", "Scope", "skill_roots"), "locations"),
    **dict.fromkeys(("discover_handoff_targets", "find_workflows"), "queries"),
    **dict.fromkeys(
        (
            "Offer",
            "Query",
            "ScorePart",
            "Synthesis",
            "rank",
            "score_query",
            "score_relevance",
            "shortlist",
        ),
        "scores",
    ),
}
"""The module of each name."""

__all__ = [
    "Candidate",
    "Discovery",
    "Offer",
    "Query",
    "Root",
    "Scope",
    "ScorePart",
    "Skipped",
    "Synthesis",
    "discover",
    "discover_handoff_targets",
    "find_workflows",
    "rank",
    "score_query",
    "score_relevance",
    "shortlist",
    "skill_roots",
]

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
