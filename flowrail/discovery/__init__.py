"""Find the skills that can take over work, and rank them.

    locations ─▶ frontmatter ─▶ declaration ─▶ scan ─▶ index ─▶ scores ─▶ menu
                                                         ▲
                                                         └── registry; `registry_sync` writes it

`discover` returns everything as one value. Each name below is imported when it is first used, because a step imports
`flowrail.discovery.locations` and does without pydantic.
"""

from importlib import import_module

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
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        modules = (import_module(f"{__name__}.{module}") for module in ("locations", "scores", "index"))
        return next(getattr(module, name) for module in modules if hasattr(module, name))
