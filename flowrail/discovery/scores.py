"""Sort candidates by how well they fit, and explain each score.

There are two scores, each a table of criteria. `score_relevance` (0 to 10) compares a candidate with a synthesis: the
results of the work so far. `score_query` (up to 100) compares it with a query: a category, an input, a version. Without
either, candidates have no score. Equal scores go to the nearer scope, or to the priority that the registry sets, then to
the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from flowrail.command import Command
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import VERSIONS, Compatibility, CompatibilityLevel, compatibility
from flowrail.discovery.locations import Scope

Work = TypeVar("Work")

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "strategic": ("research", "analysis", "architecture"),
    "analytical": ("analysis", "research", "verification"),
    "creative": ("creative", "research", "analysis"),
    "decision": ("research", "analysis", "verification"),
    "implementation": ("implementation", "architecture"),
    "research": ("research", "analysis"),
    "verification": ("verification", "analysis"),
}
"""The categories that suit each problem type."""

DEFAULT_PROBLEM_TYPES: Mapping[str, str] = {
    "analysis": "analytical",
    "architecture": "strategic",
    "creative": "creative",
    "implementation": "implementation",
    "research": "research",
    "verification": "verification",
}
"""The problem type of work by a skill that reports none, by the first of its categories that is listed here."""

_BUILDING = re.compile(
    r"\b(?:(?:build|develop|implement)(?:s|ed|ing|er|ers|ment|ation|ations)?|built"
    r"|(?:creat|cod)(?:e|es|ed|ing|er|or|ion|ions)|software)\b",
    re.IGNORECASE,
)
_MANY_UNCERTAINTIES = 3
_FEWEST, _MOST = 3, 5


@dataclass(frozen=True)
class Synthesis:
    """The results of the work so far that decide which skill should take over."""

    problem_type: str = ""
    synthesis_summary: str = ""
    key_uncertainties: tuple[str, ...] = ()
    convergence_level: str = ""


@dataclass(frozen=True)
class Query:
    """The requirements on a candidate. Empty fields require nothing."""

    categories: tuple[str, ...] = ()
    source: str = ""
    """The skill that hands off."""
    schema_version: str = ""
    inputs: tuple[str, ...] = ()
    supervised: bool = True
    """Whether a person watches the work."""
    history: Collection[str] = ()
    """The skills that received handoffs before."""
    chain: Sequence[str] = ()
    """The skills that the work came through."""
    synthesis: Synthesis | None = None
    """The results of the work. If they are known, candidates are ranked by them."""

    @property
    def scorer(self) -> str:
        """The name of the score: `relevance`, `query` or `none`. The source alone only filters."""
        if self.synthesis is not None:
            return "relevance"
        asks = self.categories or self.schema_version or self.inputs or not self.supervised
        return "query" if asks else "none"

    @property
    def most(self) -> int:
        """The highest possible score."""
        return 100 if self.synthesis is None else 10


@dataclass(frozen=True)
class ScorePart:
    """The points of one criterion."""

    rule: str
    points: int
    most: int
    """The highest possible points."""
    reason: str
    """A fact about the candidate."""


@dataclass(frozen=True)
class Offer(Candidate):
    """A candidate as an answer to a query."""

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
class Criterion(Generic[Work]):
    """A row of a scorer."""

    rule: str
    most: int
    """The highest possible points."""
    judge: Callable[[Work, Candidate], tuple[int, str]]
    """Returns the points of a candidate, and the reason."""


def _suits_problem(work: Synthesis, candidate: Candidate) -> tuple[int, str]:
    kind = work.problem_type
    suitable = CATEGORIES.get(kind)
    if suitable is None:
        return 0, f"unknown problem type `{kind}`" if kind else "no problem type is known"
    problem = f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind} problem"
    fitting = [category for category in suitable if category in candidate.categories]
    if fitting:
        return 3, f"`{fitting[0]}` suits {problem}"
    return 0, f"{problem} needs one of {', '.join(suitable)}"


def _if_category(
    category: str, fact: Callable[[Synthesis], tuple[bool, str]]
) -> Callable[[Synthesis, Candidate], tuple[int, str]]:
    """Return the judge that gives two points if a fact about the work holds and the candidate has *category*."""

    def judge(work: Synthesis, candidate: Candidate) -> tuple[int, str]:
        holds, reason = fact(work)
        if holds and category not in candidate.categories:
            return 0, f"{reason}, but the skill does not have the category `{category}`"
        return 2 * holds, reason

    return judge


def _is_uncertain(work: Synthesis) -> tuple[bool, str]:
    number = len(work.key_uncertainties)
    known = f"{number} {'uncertainty' if number == 1 else 'uncertainties'}"
    return number >= _MANY_UNCERTAINTIES, f"{known}, and {_MANY_UNCERTAINTIES} count"


def _is_to_be_built(work: Synthesis) -> tuple[bool, str]:
    word = _BUILDING.search(work.synthesis_summary)
    return bool(word), f"the summary contains {f'`{word[0]}`' if word else 'no word such as `build`'}"


def _diverges(work: Synthesis) -> tuple[bool, str]:
    level = work.convergence_level
    return level in {"low", "none"}, f"the convergence level is {level or 'unknown'}"


def _is_near(_work: Synthesis, candidate: Candidate) -> tuple[int, str]:
    return int(candidate.scope is Scope.PROJECT), f"its scope is {candidate.scope.value}"


RELEVANCE_CRITERIA = (
    Criterion("problem type", 3, _suits_problem),
    Criterion("uncertainties", 2, _if_category("research", _is_uncertain)),
    Criterion("implementation", 2, _if_category("implementation", _is_to_be_built)),
    Criterion("convergence", 2, _if_category("research", _diverges)),
    Criterion("scope", 1, _is_near),
)
"""The score by the results of the work so far."""


def _requested(what: str, most: int, requested: Sequence[str], offered: Collection[str]) -> tuple[int, str]:
    """Return all points if everything requested is offered, half of them if a part is."""
    common = [name for name in requested if name in offered]
    if not common:
        return 0, f"has none of {', '.join(requested)}" if requested else f"no {what} was requested"
    if len(common) == len(requested):
        return most, f"has {', '.join(common)}"
    return most // 2, f"has {', '.join(common)} of {', '.join(requested)}"


def _reads_version(query: Query, candidate: Candidate) -> tuple[int, str]:
    sent, read = query.schema_version, candidate.schema_version
    fit = compatibility(sent or VERSIONS[-1], read)
    reason = fit.in_words(sent, read) if sent else f"reads payload version {read}"
    if fit.verdict is CompatibilityLevel.YES:
        return 20, reason
    return (10, f"{reason}; universal") if candidate.schema_type == "universal" else (0, reason)


def _is_known(query: Query, candidate: Candidate) -> tuple[int, str]:
    if candidate.skill in query.history:
        return 10, "received a handoff from this project before"
    return 0, "received no handoff from this project"


def _works_alone(query: Query, candidate: Candidate) -> tuple[int, str]:
    if candidate.autonomous is None:
        return 0, "does not declare whether it works autonomously"
    fits = candidate.autonomous is not query.supervised
    return 10 * fits, f"works {'autonomously' if candidate.autonomous else 'supervised'}"


def _had_the_work(query: Query, candidate: Candidate) -> tuple[int, str]:
    if candidate.skill in query.chain:
        return -30, f"`{candidate.skill}` already had this work"
    return 0, f"`{candidate.skill}` did not have this work before"


QUERY_CRITERIA: tuple[Criterion[Query], ...] = (
    Criterion("category", 40, lambda q, c: _requested("category", 40, q.categories, c.categories)),
    Criterion("schema", 20, _reads_version),
    Criterion("input", 20, lambda q, c: _requested("input", 20, q.inputs, c.input_requirements)),
    Criterion("history", 10, _is_known),
    Criterion("autonomy", 10, _works_alone),
    Criterion("loop", 0, _had_the_work),
)
"""The score by a query."""


def score_relevance(synthesis: Synthesis, candidate: Candidate) -> tuple[ScorePart, ...]:
    """Return the parts that add up to how well *candidate* fits *synthesis*, from 0 to 10."""
    return _score(RELEVANCE_CRITERIA, synthesis, candidate)


def score_query(query: Query, candidate: Candidate) -> tuple[ScorePart, ...]:
    """Return the parts that add up to how well *candidate* fits *query*: at most 100, below 0 if it had the work."""
    return _score(QUERY_CRITERIA, query, candidate)


def _score(criteria: Iterable[Criterion[Work]], work: Work, candidate: Candidate) -> tuple[ScorePart, ...]:
    judged = ((row, *row.judge(work, candidate)) for row in criteria)
    return tuple(ScorePart(row.rule, points, row.most, reason) for row, points, reason in judged)


def rate(candidate: Candidate, query: Query) -> Offer:
    """Return *candidate* with its score, or with the reasons why it does not fit. Without a request it has no score."""
    fit = compatibility(query.schema_version or VERSIONS[-1], candidate.schema_version)
    offer = Offer(**{**vars(candidate), "compatibility": fit, "misses": tuple(_misses(candidate, query))})
    if offer.misses or query.scorer == "none":
        return offer
    synthesis = query.synthesis
    parts = score_query(query, offer) if synthesis is None else score_relevance(synthesis, offer)
    return replace(offer, score=sum(part.points for part in parts), parts=parts)


def rank(candidates: Iterable[Candidate], query: Query) -> list[Offer]:
    """Return the candidates that fit *query*, best first."""
    offers = [offer for candidate in candidates if not (offer := rate(candidate, query)).misses]
    return sorted(offers, key=lambda o: (-(o.score or 0), o.priority, o.scope.priority, o.skill))


def shortlist(ranked: Sequence[Offer]) -> list[Offer]:
    """Return the first three, and up to two more that have points or no score."""
    return [*ranked[:_FEWEST], *(o for o in ranked[_FEWEST:_MOST] if o.score is None or o.score > 0)]


def _misses(candidate: Candidate, query: Query) -> Iterator[str]:
    """Yield what *query* asks for and *candidate* does not have. One of several categories or inputs is enough."""
    if query.categories and not set(query.categories).intersection(candidate.categories):
        yield f"its categories are {', '.join(candidate.categories)}"
    if query.source in {candidate.skill, candidate.name} - {""}:
        yield "a skill does not hand off to itself"
    elif query.source and not candidate.admits(query.source):
        yield f"it accepts work from {', '.join(candidate.accepts_from)}, not from `{query.source}`"
    fit = compatibility(query.schema_version, candidate.schema_version)
    if query.schema_version and fit.verdict is not CompatibilityLevel.YES:
        yield f"payload {fit.in_words(query.schema_version, candidate.schema_version)}"
    if query.inputs and not set(query.inputs).intersection(candidate.input_requirements):
        inputs = ", ".join(candidate.input_requirements)
        yield f"its inputs are {inputs}" if inputs else "it declares no inputs"


def default_problem_type(categories: Iterable[str]) -> str:
    """Return the problem type of work by a skill with these categories; `analytical` if none is known."""
    known = (DEFAULT_PROBLEM_TYPES[name] for name in categories if name in DEFAULT_PROBLEM_TYPES)
    return next(known, "analytical")


def read_synthesis(facts: Mapping[str, object]) -> Synthesis:
    """Return the synthesis in a session's facts, or in the content of a payload of any version.

    Repeated uncertainties count each time.
    """
    content = _part(facts, "handoff") or facts
    working = _part(_part(content, "payload"), "working")
    parts = [content, *(_part(content, name) for name in ("context", "meta", "payload")), working]
    insights = [_part(content, "insights"), _part(working, "insights")]

    def text(*names: str) -> str:
        values = (part.get(name) for name in names for part in (*parts, *insights))
        return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")

    uncertainties = [
        str(item)
        for name, holders in (("key_uncertainties", [*parts, *insights]), ("uncertainties", insights))
        for part in holders
        if isinstance(items := part.get(name), list | tuple)
        for item in items
        if item
    ]
    return Synthesis(
        text("problem_type").lower(),
        text("synthesis_summary", "summary"),
        tuple(uncertainties),
        text("convergence_level").lower(),
    )


def _part(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = value.get(name)
    return part if isinstance(part, Mapping) else {}
