"""What to offer for what is asked: who fits, in which order, how many to show, what the others lack.

Pure: everything is read off a `Discovery`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import VERSIONS, Compatibility, compatibility
from flowrail.discovery.index import Discovery, Nothing
from flowrail.discovery.ranking import Query, Ranked, Synthesis, answers, rank, rank_for, shortlist


class Asked(NamedTuple):
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
    def most(self) -> int:
        """The highest score there can be."""
        return 100 if self.synthesis is None else 10

    def schema(self, candidate: Candidate) -> Compatibility:
        """Return whether *candidate* understands the version that is handed over."""
        return compatibility(self.query.schema_version or VERSIONS[-1], candidate.schema_version)


class Unfit(NamedTuple):
    """A skill that accepts handoffs and is not what was asked for; ``reasons`` say why."""

    candidate: Candidate
    reasons: tuple[str, ...]


class Menu(NamedTuple):
    """All that fit, best first, how many of them to show, those that do not fit, or what to say instead."""

    asked: Asked
    ranked: tuple[Ranked, ...]
    length: int
    unfit: tuple[Unfit, ...]
    nothing: Nothing | None

    @property
    def shown(self) -> Sequence[Ranked]:
        """Those to choose from."""
        return self.ranked[: self.length]

    def place(self, candidate: Candidate) -> int:
        """Return the place of *candidate* among those that fit, from 1; 0 where it is not one of them."""
        places = (place for place, each in enumerate(self.ranked, 1) if each.candidate.path == candidate.path)
        return next(places, 0)


def offer(discovery: Discovery, asked: Asked, *, top: int | None = None) -> Menu:
    """Return what to offer of *discovery*: the first *top*, or three to five as their scores have it."""
    query = asked.query
    fitting = [each for each in discovery.candidates if answers(each, query)]
    ranked = (
        rank_for(fitting, query) if asked.synthesis is None else rank(fitting, synthesis=asked.synthesis)
    )
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


def misses(candidate: Candidate, query: Query) -> Iterator[str]:
    """Yield what *query* asks for and *candidate* does not have."""
    if not answers(candidate, Query(categories=query.categories)):
        yield f"its categories are {', '.join(candidate.categories)}"
    if not answers(candidate, Query(source=query.source)):
        yield _refusal(candidate, query.source)
    if not answers(candidate, Query(schema_version=query.schema_version)):
        fit = compatibility(query.schema_version, candidate.schema_version)
        yield f"schema {query.schema_version} to {candidate.schema_version}: {fit.verdict.value}, {fit.reason}"
    if not answers(candidate, Query(inputs=query.inputs)):
        takes = ", ".join(candidate.input_requirements)
        yield f"the inputs it takes are {takes}" if takes else "it does not say which inputs it takes"
    if not answers(candidate, Query(text=query.text)):
        yield f"not every word of `{query.text}` is in its name, description, categories or tags"


def _refusal(candidate: Candidate, source: str) -> str:
    if source in {candidate.skill, candidate.name}:
        return "nobody hands work to itself"
    return f"it accepts work from {', '.join(candidate.accepts_from)}, not from `{source}`"
