"""Find the skills that can take over work, and rank them.

    locations ─▶ scan ─▶ index ─▶ ranking ─▶ menus
                           ▲
                           └── registry_file; `registry` checks and writes it

`discover` returns everything as one value. The names below are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowrail import lazy_exports

if TYPE_CHECKING:
    from flowrail.discovery.candidate import (
        Candidate as Candidate,
        Skipped as Skipped,
    )
    from flowrail.discovery.diagnostics import Note as Note
    from flowrail.discovery.index import (
        Discovery as Discovery,
        discover as discover,
    )
    from flowrail.discovery.locations import (
        Root as Root,
        Scope as Scope,
        skill_roots as skill_roots,
    )
    from flowrail.discovery.queries import (
        discover_handoff_targets as discover_handoff_targets,
        find_workflows as find_workflows,
    )
    from flowrail.discovery.ranking.scores import (
        Query as Query,
        Ranked as Ranked,
        Score as Score,
        Synthesis as Synthesis,
        rank as rank,
        rank_for as rank_for,
        score_query as score_query,
        score_relevance as score_relevance,
        shortlist as shortlist,
    )
else:
    __all__, __dir__, __getattr__ = lazy_exports(
        __name__,
        {
            "flowrail.discovery.candidate": "Candidate Skipped",
            "flowrail.discovery.diagnostics": "Note",
            "flowrail.discovery.index": "Discovery discover",
            "flowrail.discovery.locations": "Root Scope skill_roots",
            "flowrail.discovery.queries": "discover_handoff_targets find_workflows",
            "flowrail.discovery.ranking.scores": (
                "Query Ranked Score Synthesis rank rank_for score_query score_relevance shortlist"
            ),
        },
    )
