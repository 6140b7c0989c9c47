"""The menu of skills that can take over: those that fit a request, sorted, and why the others do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import VERSIONS, normal_version
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery, EmptyMenu
from flowrail.discovery.locations import Scope
from flowrail.discovery.ranking.scores import (
    CATEGORIES,
    Query,
    Ranked,
    Synthesis,
    misses,
    rank,
    rank_for,
    shortlist,
)

RELEVANCE, QUERY, UNSCORED = "relevance", "query", "none"
"""The name of the score of a menu's candidates."""


class MenuRequest(NamedTuple):
    """The query that candidates must answer, and the synthesis of the work so far, if there is one.

    With a synthesis, candidates are ranked by their relevance to it. Otherwise they are ranked by the query, if it asks
    for anything.
    """

    query: Query = Query()
    synthesis: Synthesis | None = None

    @property
    def by(self) -> Query | Synthesis | None:
        """The query or synthesis that gives candidates a score, or `None` if nothing was requested."""
        if self.synthesis is not None:
            return self.synthesis
        return self.query if self.query.asks else None

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


class Menu(NamedTuple):
    """The skills that fit, sorted, how many of them to show, those that do not fit, and a message if none fits."""

    asked: MenuRequest
    ranked: tuple[Ranked, ...]
    length: int
    unfit: tuple[Ranked, ...]
    nothing: EmptyMenu | None

    @property
    def places(self) -> list[tuple[int, Ranked]]:
        """The skills that fit, each with its place, from 1."""
        return list(enumerate(self.ranked, 1))

    @property
    def scores(self) -> dict[str, int]:
        """The score of each skill that fits; empty if nothing was requested."""
        return {entry.candidate.skill: int(entry.score) for entry in self.ranked if entry.score is not None}

    def place(self, candidate: Candidate) -> int:
        """Return the place of *candidate* among those that fit, from 1; 0 if it does not fit."""
        return next((place for place, entry in self.places if entry.candidate.skill == candidate.skill), 0)


def offer(discovery: Discovery, asked: MenuRequest, *, top: int | None = None) -> Menu:
    """Return the menu for a request. It shows the first *top* skills, or three to five."""
    fitting: list[Candidate] = []
    unfit: list[Ranked] = []
    for candidate in discovery.candidates:
        if reasons := tuple(misses(candidate, asked.query)):
            unfit.append(Ranked(candidate, None, reasons))
        else:
            fitting.append(candidate)
    ranked = (
        rank_for(fitting, asked.query)
        if asked.synthesis is None
        else rank(fitting, synthesis=asked.synthesis)
    )
    length = len(shortlist(ranked)) if top is None else min(top, len(ranked))
    return Menu(asked, tuple(ranked), length, tuple(unfit), discovery.nothing(len(ranked)))


def remarks(discovery: Discovery) -> Iterator[Note]:
    """Yield the notes of a discovery, and the locations that cannot be used.

    A missing folder is only reported if it was named with `--root`.
    """
    for root in discovery.places.roots:
        is_common = root.problem.startswith(("missing", "same folder"))
        if root.problem and (root.scope is Scope.EXTRA or not is_common):
            yield Note("PLACE_UNUSABLE", f"no skills can be found there: {root.problem}", root.path)
    yield from discovery.notes
