"""Sort candidates by how well they fit, and explain each score.

There are two scores. `score_relevance` (0 to 10) compares candidates with a synthesis: the results of the work so far.
`score_query` (up to 100) compares them with a query: a category, an input, a version. Without either, candidates have
no score. Equal scores go to the nearer scope, or to the priority that the registry sets, then to the name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import VERSIONS, CompatibilityLevel, compatibility
from flowrail.discovery.locations import Scope

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
_LOW_CONVERGENCE = ("low", "none")
_LOOP_PENALTY = -30
_FEWEST, _MOST = 3, 5


@dataclass(frozen=True)
class ScorePart:
    """The points of one rule."""

    rule: str
    points: int
    most: int
    """The highest possible points."""
    reason: str
    """A fact about the candidate."""


class Score(int):
    """A number with the parts that add up to it."""

    parts: tuple[ScorePart, ...]

    def __new__(cls, parts: Iterable[ScorePart]) -> Self:
        """Return the sum of *parts*."""
        known = tuple(parts)
        score = super().__new__(cls, sum(part.points for part in known))
        score.parts = known
        return score


@dataclass(frozen=True)
class Ranked:
    """A candidate and its score."""

    candidate: Candidate
    score: Score | None
    """`None` if nothing was requested, or if it does not fit."""
    misses: tuple[str, ...] = ()
    """Why it does not fit; empty if it does."""


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
    text: str = ""
    """Words that must all be in the description."""
    supervised: bool = True
    """Whether a person watches the work."""
    history: Collection[str] = ()
    """The skills that received handoffs before."""
    chain: Sequence[str] = ()
    """The skills that the work came through."""

    @property
    def asks(self) -> bool:
        """Whether the query can give candidates different scores. The source alone only filters."""
        return bool(self.categories or self.schema_version or self.inputs or self.text or not self.supervised)


def score_relevance(
    synthesis: Synthesis | Mapping[str, object], candidate: Candidate | Mapping[str, object]
) -> Score:
    """Return how well *candidate* fits *synthesis*, from 0 to 10.

    *synthesis* may be the content of a payload, *candidate* an entry of `available-workflows.yaml`.
    """
    work = read_synthesis(synthesis)
    if isinstance(candidate, Mapping):
        scope = Scope(str(candidate.get("scope") or Scope.GLOBAL))
        candidate = Candidate("", scope, "", categories=tuple(_many(candidate.get("categories"))))
    return Score(
        (
            _problem_type(work.problem_type, candidate),
            _uncertainties(work.key_uncertainties, candidate),
            _implementation(work.synthesis_summary, candidate),
            _convergence(work.convergence_level, candidate),
            _nearness(candidate),
        )
    )


def score_query(query: Query, candidate: Candidate) -> Score:
    """Return how well *candidate* fits *query*: at most 100, below 0 if it already had the work."""
    parts = [
        _requested("category", query.categories, candidate.categories, 40),
        _schema(query.schema_version, candidate),
        _requested("input", query.inputs, candidate.input_requirements, 20),
        _history(query.history, candidate),
        _autonomy(candidate, supervised=query.supervised),
    ]
    if candidate.skill in query.chain:
        parts.append(ScorePart("loop", _LOOP_PENALTY, 0, f"`{candidate.skill}` already had this work"))
    return Score(parts)


def rank(candidates: Iterable[Candidate], *, synthesis: Synthesis | Mapping[str, object]) -> list[Ranked]:
    """Return the candidates with their relevance to *synthesis*, best first."""
    return _in_order(Ranked(candidate, score_relevance(synthesis, candidate)) for candidate in candidates)


def rank_for(candidates: Iterable[Candidate], query: Query) -> list[Ranked]:
    """Return the candidates that have what *query* asks for, best first. If it asks for nothing, they have no score."""
    return _in_order(
        Ranked(candidate, score_query(query, candidate) if query.asks else None)
        for candidate in candidates
        if not any(misses(candidate, query))
    )


def shortlist(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the first three, and up to two more that have points or no score."""
    return [
        entry
        for position, entry in enumerate(ranked[:_MOST])
        if position < _FEWEST or entry.score is None or entry.score > 0
    ]


def misses(candidate: Candidate, query: Query) -> Iterator[str]:
    """Yield what *query* asks for and *candidate* does not have. One of several categories or inputs is enough."""
    if query.categories and not set(query.categories).intersection(candidate.categories):
        yield f"its categories are {', '.join(candidate.categories)}"
    if query.source and query.source in {candidate.skill, candidate.name}:
        yield "a skill does not hand off to itself"
    elif query.source and not candidate.admits(query.source):
        yield f"it accepts work from {', '.join(candidate.accepts_from)}, not from `{query.source}`"
    fit = compatibility(query.schema_version, candidate.schema_version)
    if query.schema_version and fit.verdict is not CompatibilityLevel.YES:
        versions = f"{query.schema_version} to {candidate.schema_version}"
        yield f"payload {versions}: {fit.verdict.value}, {fit.reason}"
    if query.inputs and not set(query.inputs).intersection(candidate.input_requirements):
        inputs = ", ".join(candidate.input_requirements)
        yield f"its inputs are {inputs}" if inputs else "it declares no inputs"
    if not _words(query.text) <= _words(_all_text(candidate)):
        yield f"its name, description, categories and tags do not contain every word of `{query.text}`"


def default_problem_type(categories: Iterable[str]) -> str:
    """Return the problem type of work by a skill with these categories; `analytical` if none is known."""
    known = (DEFAULT_PROBLEM_TYPES[name] for name in categories if name in DEFAULT_PROBLEM_TYPES)
    return next(known, "analytical")


def read_synthesis(value: Synthesis | Mapping[str, object]) -> Synthesis:
    """Return the synthesis in *value*, in the form of a session's facts or of any payload version.

    Repeated uncertainties count each time.
    """
    if isinstance(value, Synthesis):
        return value
    content = _field(value, "handoff") or value
    payload = _field(content, "payload")
    working = _field(payload, "working")
    levels = [content, *(_field(content, name) for name in ("context", "insights", "meta")), payload, working]
    insights = [_field(content, "insights"), _field(working, "insights")]
    uncertainties = [
        *(item for level in levels for item in _many(_field(level, "key_uncertainties"))),
        *(item for level in insights for item in _many(_field(level, "uncertainties"))),
    ]
    return Synthesis(
        _first_text(levels, "problem_type").lower(),
        _first_text(levels, "synthesis_summary") or _first_text(levels, "summary"),
        tuple(uncertainties),
        _first_text(levels, "convergence_level").lower(),
    )


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def _first_text(levels: Iterable[object], name: str) -> str:
    values = (_field(level, name) for level in levels)
    return next((text.strip() for text in values if isinstance(text, str) and text.strip()), "")


def _many(value: object) -> list[str]:
    return [str(item) for item in value if item] if isinstance(value, list | tuple) else []


def _problem_type(problem_type: str, candidate: Candidate) -> ScorePart:
    suitable = CATEGORIES.get(problem_type)
    if suitable is None:
        reason = f"unknown problem type `{problem_type}`" if problem_type else "no problem type is known"
        return ScorePart("problem type", 0, 3, reason)
    fitting = [category for category in suitable if category in candidate.categories]
    if fitting:
        return ScorePart("problem type", 3, 3, f"`{fitting[0]}` suits {_with_article(problem_type)} problem")
    reason = f"{_with_article(problem_type)} problem needs one of {', '.join(suitable)}"
    return ScorePart("problem type", 0, 3, reason)


def _with_article(problem_type: str) -> str:
    return f"{'an' if problem_type[:1] in 'aeiou' else 'a'} {problem_type}"


def _uncertainties(uncertainties: Collection[str], candidate: Candidate) -> ScorePart:
    number = len(uncertainties)
    reason = f"{number} {'uncertainty' if number == 1 else 'uncertainties'}, and {_MANY_UNCERTAINTIES} count"
    return _if_category("uncertainties", "research", candidate, reason, holds=number >= _MANY_UNCERTAINTIES)


def _implementation(summary: str, candidate: Candidate) -> ScorePart:
    word = _BUILDING.search(summary)
    reason = f"the summary contains `{word[0]}`" if word else "the summary contains no word such as `build`"
    return _if_category("implementation", "implementation", candidate, reason, holds=word is not None)


def _convergence(level: str, candidate: Candidate) -> ScorePart:
    reason = f"the convergence level is {level or 'unknown'}"
    return _if_category("convergence", "research", candidate, reason, holds=level in _LOW_CONVERGENCE)


def _nearness(candidate: Candidate) -> ScorePart:
    near = candidate.scope is Scope.PROJECT
    return ScorePart("scope", int(near), 1, f"its scope is {candidate.scope.value}")


def _if_category(rule: str, category: str, candidate: Candidate, reason: str, *, holds: bool) -> ScorePart:
    """Return two points if the reason *holds* and the candidate has *category*."""
    has_category = category in candidate.categories
    if holds and not has_category:
        reason = f"{reason}, but the skill does not have the category `{category}`"
    return ScorePart(rule, 2 if holds and has_category else 0, 2, reason)


def _requested(rule: str, requested: Sequence[str], offered: Sequence[str], most: int) -> ScorePart:
    """Return all points if everything requested is offered, half of them if a part is."""
    common = [name for name in requested if name in offered]
    if not requested:
        return ScorePart(rule, 0, most, f"no {rule} was requested")
    if not common:
        return ScorePart(rule, 0, most, f"has none of {', '.join(requested)}")
    if len(common) == len(requested):
        return ScorePart(rule, most, most, f"has {', '.join(common)}")
    return ScorePart(rule, most // 2, most, f"has {', '.join(common)} of {', '.join(requested)}")


def _schema(sent: str, candidate: Candidate) -> ScorePart:
    fit = compatibility(sent or VERSIONS[-1], candidate.schema_version)
    reason = f"reads payload version {candidate.schema_version}"
    if sent:
        reason = f"{sent} to {candidate.schema_version}: {fit.verdict.value}, {fit.reason}"
    if fit.verdict is CompatibilityLevel.YES:
        return ScorePart("schema", 20, 20, reason)
    if candidate.schema_type == "universal":
        return ScorePart("schema", 10, 20, f"{reason}; universal")
    return ScorePart("schema", 0, 20, reason)


def _history(history: Collection[str], candidate: Candidate) -> ScorePart:
    received = candidate.skill in history
    reason = (
        "received a handoff from this project before" if received else "received no handoff from this project"
    )
    return ScorePart("history", 10 if received else 0, 10, reason)


def _autonomy(candidate: Candidate, *, supervised: bool) -> ScorePart:
    if candidate.autonomous is None:
        return ScorePart("autonomy", 0, 10, "does not declare whether it works autonomously")
    works = "autonomously" if candidate.autonomous else "supervised"
    fits = candidate.autonomous is not supervised
    return ScorePart("autonomy", 10 if fits else 0, 10, f"works {works}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _all_text(candidate: Candidate) -> str:
    texts = (candidate.skill, candidate.name, candidate.description, *candidate.categories, *candidate.tags)
    return " ".join(texts)


def _in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(
        ranked,
        key=lambda r: (-(r.score or 0), r.candidate.priority, r.candidate.scope.priority, r.candidate.skill),
    )
