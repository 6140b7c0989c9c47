"""The menu of skills that can take over: those that fit a request, sorted, and why the others do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import VERSIONS, compatibility, normal_version
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery, EmptyMenu
from flowrail.discovery.locations import Scope
from flowrail.discovery.ranking.scores import (
    CATEGORIES,
    Query,
    Ranked,
    Synthesis,
    answers,
    rank,
    rank_for,
    shortlist,
)

RELEVANCE, QUERY, UNSCORED = "relevance", "query", "none"
"""What the candidates of a menu are scored by."""


class MenuRequest(NamedTuple):
    """The query that candidates must answer, and the synthesis of the work so far, if there is one.

    With a synthesis, candidates are ranked by their relevance to it. Otherwise they are ranked by the query, if it asks
    for anything.
    """

    query: Query = Query()
    synthesis: Synthesis | None = None

    @property
    def by(self) -> Query | Synthesis | None:
        """What candidates are scored by, or `None` if nothing was asked."""
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


class UnsuitableCandidate(NamedTuple):
    """A skill that accepts handoffs but does not fit the request, and why."""

    candidate: Candidate
    reasons: tuple[str, ...]


class Menu(NamedTuple):
    """The skills that fit, sorted, how many of them to show, those that do not fit, or what to say if none does."""

    asked: MenuRequest
    ranked: tuple[Ranked, ...]
    length: int
    unfit: tuple[UnsuitableCandidate, ...]
    nothing: EmptyMenu | None

    @property
    def places(self) -> list[tuple[int, Ranked]]:
        """The skills that fit, each with its place, from 1."""
        return list(enumerate(self.ranked, 1))

    @property
    def scores(self) -> dict[str, int]:
        """The score of each skill that fits; empty if nothing was asked."""
        return {entry.candidate.skill: int(entry.score) for entry in self.ranked if entry.score is not None}

    def place(self, candidate: Candidate) -> int:
        """Return the place of *candidate* among those that fit, from 1; 0 if it does not fit."""
        return next((place for place, entry in self.places if entry.candidate.skill == candidate.skill), 0)


def offer(discovery: Discovery, asked: MenuRequest, *, top: int | None = None) -> Menu:
    """Return the menu for a request. It shows the first *top* skills, or three to five."""
    query = asked.query
    fitting = [candidate for candidate in discovery.candidates if answers(candidate, query)]
    ranked = rank_for(fitting, query) if asked.synthesis is None else rank(fitting, synthesis=asked.synthesis)
    return Menu(
        asked,
        tuple(ranked),
        len(shortlist(ranked)) if top is None else min(top, len(ranked)),
        tuple(
            UnsuitableCandidate(candidate, tuple(misses(candidate, query)))
            for candidate in discovery.candidates
            if candidate not in fitting
        ),
        discovery.nothing(len(ranked)),
    )


def remarks(discovery: Discovery) -> Iterator[Note]:
    """Yield the notes of a discovery, and the locations that cannot be used.

    A missing folder is only reported if it was named with `--root`.
    """
    for root in discovery.places.roots:
        is_common = root.problem.startswith(("missing", "same folder"))
        if root.problem and (root.scope is Scope.EXTRA or not is_common):
            yield Note("PLACE_UNUSABLE", f"no skills can be found there: {root.problem}", root.path)
    yield from discovery.notes


def misses(candidate: Candidate, query: Query) -> Iterator[str]:
    """Yield what *query* asks for and *candidate* does not have."""
    if not answers(candidate, Query(categories=query.categories)):
        yield f"its categories are {', '.join(candidate.categories)}"
    if not answers(candidate, Query(source=query.source)):
        yield _refusal(candidate, query.source)
    if not answers(candidate, Query(schema_version=query.schema_version)):
        fit = compatibility(query.schema_version, candidate.schema_version)
        versions = f"{query.schema_version} to {candidate.schema_version}"
        yield f"payload {versions}: {fit.verdict.value}, {fit.reason}"
    if not answers(candidate, Query(inputs=query.inputs)):
        inputs = ", ".join(candidate.input_requirements)
        yield f"its inputs are {inputs}" if inputs else "it declares no inputs"
    if not answers(candidate, Query(text=query.text)):
        yield f"its name, description, categories and tags do not contain every word of `{query.text}`"


def _refusal(candidate: Candidate, source: str) -> str:
    if source in {candidate.skill, candidate.name}:
        return "a skill does not hand off to itself"
    return f"it accepts work from {', '.join(candidate.accepts_from)}, not from `{source}`"
