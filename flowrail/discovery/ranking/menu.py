"""What to offer for what is asked: who fits, in which order, how many to show, what the others lack.

Pure: everything is read off a `Discovery`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import VERSIONS, Compatibility, compatibility, normal_version
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


class MenuRequest(NamedTuple):
    """What is asked for, and what the work so far has shown where that is to decide the order.

    The query says who fits at all. With a synthesis the first scorer ranks them, else the second.
    """

    query: Query = Query()
    synthesis: Synthesis | None = None

    @property
    def by(self) -> Query | Synthesis:
        """What the score is about."""
        return self.query if self.synthesis is None else self.synthesis

    @property
    def scorer(self) -> str:
        """Which of the two scorers ranks: ``query`` or ``relevance``."""
        return "query" if self.synthesis is None else "relevance"

    @property
    def most(self) -> int:
        """The highest score there can be."""
        return 100 if self.synthesis is None else 10

    def unknown(self) -> Iterator[str]:
        """Yield what is asked for by a name that nobody knows, with the names that there are."""
        kind = self.synthesis.problem_type if self.synthesis else ""
        if kind and kind not in CATEGORIES:
            yield f"there is no problem type `{kind}`, so it counts for nobody; there are {', '.join(CATEGORIES)}"
        version = self.query.schema_version
        if version and normal_version(version) not in VERSIONS:
            yield f"there is no schema version `{version}`; there are {', '.join(VERSIONS)}"

    def schema(self, candidate: Candidate) -> Compatibility:
        """Return whether *candidate* understands the version that is handed over."""
        return compatibility(self.query.schema_version or VERSIONS[-1], candidate.schema_version)


class Unfit(NamedTuple):
    """A skill that accepts handoffs and is not what was asked for; ``reasons`` say why."""

    candidate: Candidate
    reasons: tuple[str, ...]


class Menu(NamedTuple):
    """All that fit, best first, how many of them to show, those that do not fit, or what to say instead."""

    asked: MenuRequest
    ranked: tuple[Ranked, ...]
    length: int
    unfit: tuple[Unfit, ...]
    nothing: EmptyMenu | None

    @property
    def places(self) -> list[tuple[int, Ranked]]:
        """Those that fit, each with its place, from 1."""
        return list(enumerate(self.ranked, 1))

    @property
    def scores(self) -> dict[str, int]:
        """The score of each skill that fits."""
        return {each.candidate.skill: int(each.score) for each in self.ranked}

    def place(self, candidate: Candidate) -> int:
        """Return the place of *candidate* among those that fit, from 1; 0 where it is not one of them."""
        return next((place for place, each in self.places if each.candidate.skill == candidate.skill), 0)


def offer(discovery: Discovery, asked: MenuRequest, *, top: int | None = None) -> Menu:
    """Return what to offer of *discovery*: the first *top*, or three to five as their scores have it."""
    query = asked.query
    fitting = [each for each in discovery.candidates if answers(each, query)]
    ranked = rank_for(fitting, query) if asked.synthesis is None else rank(fitting, synthesis=asked.synthesis)
    return Menu(
        asked,
        tuple(ranked),
        len(shortlist(ranked)) if top is None else min(top, len(ranked)),
        tuple(
            Unfit(each, tuple(misses(each, query)))
            for each in discovery.candidates
            if not answers(each, query)
        ),
        discovery.nothing(len(ranked)),
    )


def remarks(discovery: Discovery) -> Iterator[Note]:
    """Yield what there is to know beside the skills: places that cannot be used, and all notes.

    A place that is merely not there is worth no word, unless somebody asked for it.
    """
    for root in discovery.places.roots:
        common = root.problem.startswith(("missing", "same folder"))
        if root.problem and (root.scope is Scope.EXTRA or not common):
            yield Note("PLACE_UNUSABLE", f"nothing can be found there: {root.problem}", root.path)
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
        yield f"schema {versions}: {fit.verdict.value}, {fit.reason}"
    if not answers(candidate, Query(inputs=query.inputs)):
        takes = ", ".join(candidate.input_requirements)
        yield f"the inputs it takes are {takes}" if takes else "it does not say which inputs it takes"
    if not answers(candidate, Query(text=query.text)):
        yield f"not every word of `{query.text}` is in its name, description, categories or tags"


def _refusal(candidate: Candidate, source: str) -> str:
    if source in {candidate.skill, candidate.name}:
        return "nobody hands work to itself"
    return f"it accepts work from {', '.join(candidate.accepts_from)}, not from `{source}`"
