"""Find the skills that can take over work, and rank them.

    locations ─▶ frontmatter ─▶ declaration ─▶ scan ─▶ index ─▶ scores ─▶ menu
                                                         ▲
                                                         └── registry; `registry_sync` writes it

`discover` returns everything as one value. Each name below is imported when it is first used, because a step imports
`flowrail.discovery.locations` and does without pydantic.
"""

from flowrail.lazy_names import lazy_names

TYPE_CHECKING = False  # not from `typing`: every hook imports this package
if TYPE_CHECKING:
    from flowrail.discovery.candidate import Candidate, Skipped
    from flowrail.discovery.index import Discovery, discover, discover_handoff_targets, find_workflows
    from flowrail.discovery.locations import Root, Scope, skill_roots
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

_MODULES = {
    "discovery.candidate": ("Candidate", "Skipped"),
    "discovery.index": ("Discovery", "discover", "discover_handoff_targets", "find_workflows"),
    "discovery.locations": ("Root", "Scope", "skill_roots"),
    "discovery.scores": (
        "Offer",
        "Query",
        "ScorePart",
        "Synthesis",
        "rank",
        "score_query",
        "score_relevance",
        "shortlist",
    ),
}
"""The names of each module."""

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
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
