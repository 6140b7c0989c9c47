"""The menu of skills that can take over: those that fit a query, sorted, and why the others do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from flowrail.discovery.candidate import Skipped
from flowrail.discovery.compatibility import VERSIONS, normal_version
from flowrail.discovery.index import Discovery, EmptyMenu, unusable
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scores import CATEGORIES, Offer, Query, rank, rate, shortlist
from flowrail.text.safe_text import in_quotes


@dataclass(frozen=True)
class Menu:
    """The skills that can take over, sorted, and those that cannot."""

    candidates: tuple[Offer, ...]
    """The skills that fit, best first."""
    unfit: tuple[Offer, ...]
    """The skills that accept handoffs, but do not fit the query."""
    skipped: tuple[Skipped, ...]
    """The folders that are not candidates."""
    unusable: tuple[Root, ...]
    """The locations that cannot be used."""
    searched: tuple[Root, ...]
    """All locations, nearest first."""
    nothing: EmptyMenu | None
    """Why no installed skill fits."""
    scorer: str
    """The name of the score: relevance, query or none."""
    most: int
    """The highest possible score."""
    skills: int
    """The number of installed skills."""
    notes: tuple[str, ...]
    """Names in the query that are unknown."""
    cached_at: str = ""
    """When the skills were found, if they are those of the session's cache."""


def offer(discovery: Discovery, query: Query, *, top: int | None = None) -> Menu:
    """Return the menu for a query. It shows the first *top* skills, or three to five."""
    ranked = rank(discovery.candidates, query)
    length = len(shortlist(ranked)) if top is None else top
    return Menu(
        candidates=tuple(replace(offer, shown=position < length) for position, offer in enumerate(ranked)),
        unfit=tuple(offer for c in discovery.candidates if (offer := rate(c, query)).misses),
        skipped=discovery.skipped,
        unusable=tuple(unusable(discovery.places)),
        searched=discovery.places.roots,
        nothing=discovery.nothing(sum(offer.scope is not Scope.BUNDLED for offer in ranked)),
        scorer=query.scorer,
        most=query.most,
        skills=discovery.skills,
        notes=tuple(_unknown(query)),
    )


def _unknown(query: Query) -> Iterator[str]:
    """Yield the names in the query that are unknown, with the known ones."""
    kind, version = query.synthesis.problem_type if query.synthesis else "", query.schema_version
    if kind and kind not in CATEGORIES:
        known = ", ".join(CATEGORIES)
        yield f"unknown problem type `{in_quotes(kind[:80])}`, which gives no points; known: {known}"
    if version and normal_version(version) not in VERSIONS:
        yield f"unknown payload version `{in_quotes(version[:80])}`; known: {', '.join(VERSIONS)}"
