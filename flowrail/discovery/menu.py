"""The menu of skills that can take over: those that fit a request, sorted, and why the others do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flowrail.command import Command
from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.compatibility import VERSIONS, Compatibility, compatibility, normal_version
from flowrail.discovery.index import Discovery, EmptyMenu, unusable
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.menu_cache import CacheUse
from flowrail.discovery.scores import (
    CATEGORIES,
    Query,
    ScorePart,
    Synthesis,
    misses,
    rank,
    rank_for,
    shortlist,
)

RELEVANCE, QUERY, UNSCORED = "relevance", "query", "none"
"""The name of the score of a menu's candidates."""


@dataclass(frozen=True)
class MenuRequest:
    """What candidates are ranked by: the synthesis of the work so far if it is known, otherwise the query."""

    query: Query = field(default=Query())
    synthesis: Synthesis | None = None

    @property
    def scorer(self) -> str:
        """The name of the score: `relevance`, `query` or `none`."""
        if self.synthesis is not None:
            return RELEVANCE
        return QUERY if self.query.asks else UNSCORED

    @property
    def most(self) -> int:
        """The highest possible score."""
        return 100 if self.synthesis is None else 10

    def unknown(self) -> Iterator[str]:
        """Yield the names in the request that are unknown, with the known ones."""
        problem_type = self.synthesis.problem_type if self.synthesis else ""
        if problem_type and problem_type not in CATEGORIES:
            yield f"unknown problem type `{problem_type}`, which gives no points; known: {', '.join(CATEGORIES)}"
        version = self.query.schema_version
        if version and normal_version(version) not in VERSIONS:
            yield f"unknown payload version `{version}`; known: {', '.join(VERSIONS)}"


@dataclass(frozen=True)
class Offer(Candidate):
    """A candidate in a menu."""

    score: int | None = None
    """`None` if nothing was requested, or if it does not fit."""
    parts: tuple[ScorePart, ...] = ()
    """The points that add up to the score, each with its reason."""
    misses: tuple[str, ...] = ()
    """Why it does not fit; empty if it does."""
    compatibility: Compatibility = field(default=compatibility("", ""))
    """Whether a payload of the work's version can be sent, and what is lost."""
    shown: bool = False
    """Whether it is one of the best, which a menu shows."""
    command: Command | None = None
    """The command that hands the work over, if the skill that hands off is known and the target would take it."""
    refused: str = ""
    """Why the target would be refused."""


@dataclass(frozen=True)
class Menu:
    """The skills that can take over, sorted, and those that cannot."""

    candidates: tuple[Offer, ...]
    """The skills that fit, best first."""
    unfit: tuple[Offer, ...]
    """The skills that accept handoffs, but do not fit the request."""
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
    cache: CacheUse | None = None
    """The session's cache."""

    @property
    def shown(self) -> tuple[Offer, ...]:
        """The best candidates."""
        return tuple(offer for offer in self.candidates if offer.shown)

    @property
    def scores(self) -> dict[str, int]:
        """The score of each skill that fits; empty if nothing was requested."""
        return {offer.skill: offer.score for offer in self.candidates if offer.score is not None}


def offer(
    discovery: Discovery, asked: MenuRequest, *, top: int | None = None, cache: CacheUse | None = None
) -> Menu:
    """Return the menu for a request. It shows the first *top* skills, or three to five."""
    reasons = {candidate.skill: tuple(misses(candidate, asked.query)) for candidate in discovery.candidates}
    fitting = [candidate for candidate in discovery.candidates if not reasons[candidate.skill]]
    ranked = (
        rank_for(fitting, asked.query)
        if asked.synthesis is None
        else rank(fitting, synthesis=asked.synthesis)
    )
    length = len(shortlist(ranked)) if top is None else top
    version = asked.query.schema_version or VERSIONS[-1]
    installed = sum(candidate.scope is not Scope.BUNDLED for candidate in fitting)
    return Menu(
        tuple(
            Offer(
                **vars(entry.candidate),
                score=None if entry.score is None else int(entry.score),
                parts=() if entry.score is None else entry.score.parts,
                compatibility=compatibility(version, entry.candidate.schema_version),
                shown=position < length,
            )
            for position, entry in enumerate(ranked)
        ),
        tuple(
            Offer(**vars(candidate), misses=reasons[candidate.skill])
            for candidate in discovery.candidates
            if reasons[candidate.skill]
        ),
        discovery.skipped,
        tuple(unusable(discovery.places)),
        discovery.places.roots,
        discovery.nothing(installed),
        asked.scorer,
        asked.most,
        discovery.skills,
        cache,
    )
