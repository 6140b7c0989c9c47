"""Put candidates in order of fit, and say why.

Two scorers that are never mixed. `score_relevance` (0-10) fits candidates to a synthesis: what the work
so far has shown. `score_query` (0-100) fits them to a question: a category, an input, a version. Both
return a number that knows its parts. Pure: reads no file, asks no clock. Ties go to the nearer scope (or
to the priority that the registry sets), then to the name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Self

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import VERSIONS, CompatibilityLevel, compatibility
from flowrail.discovery.locations import Scope

#: Which categories can take on a problem of which type.
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "strategic": ("research", "analysis", "architecture"),
    "analytical": ("analysis", "research", "verification"),
    "creative": ("creative", "research", "analysis"),
    "decision": ("research", "analysis", "verification"),
    "implementation": ("implementation", "architecture"),
    "research": ("research", "analysis"),
    "verification": ("verification", "analysis"),
}
#: The problem type of work by a skill that reports none, by the first of its categories that is listed here.
DEFAULT_PROBLEM_TYPES: Mapping[str, str] = {
    "analysis": "analytical",
    "architecture": "strategic",
    "creative": "creative",
    "implementation": "implementation",
    "research": "research",
    "verification": "verification",
}
_BUILDING = re.compile(r"\b(build|implement|create|develop|code|software)\b", re.IGNORECASE)
_MANY_UNCERTAINTIES = 3
_LOW_CONVERGENCE = ("low", "none")
_LOOP_PENALTY = -30
_FEWEST, _MOST = 3, 5


def default_problem_type(categories: Iterable[str]) -> str:
    """Return the problem type of work by a skill with these categories; `analytical` if none is known."""
    known = (DEFAULT_PROBLEM_TYPES[name] for name in categories if name in DEFAULT_PROBLEM_TYPES)
    return next(known, "analytical")


class ScorePart(NamedTuple):
    """What one rule gave, of how much it could have given, and why."""

    rule: str
    points: int
    most: int
    reason: str


class Score(int):
    """A number that knows its parts, which add up to it."""

    parts: tuple[ScorePart, ...]

    def __new__(cls, parts: Iterable[ScorePart]) -> Self:
        """Return the sum of *parts*."""
        known = tuple(parts)
        score = super().__new__(cls, sum(part.points for part in known))
        score.parts = known
        return score

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {"score": int(self), "parts": [part._asdict() for part in self.parts]}


class Ranked(NamedTuple):
    """A candidate and its score."""

    candidate: Candidate
    score: Score


class Synthesis(NamedTuple):
    """What the work so far has shown, as far as it tells who should take over."""

    problem_type: str = ""
    synthesis_summary: str = ""
    key_uncertainties: tuple[str, ...] = ()
    convergence_level: str = ""


class Query(NamedTuple):
    """What is asked for; what is empty is not asked.

    ``source`` hands over, in ``schema_version`` (scored as 3.0 where it is empty, and then not asked
    for). ``supervised`` is whether a person stays in the loop. ``history`` names the skills that took
    over before with success, ``chain`` those that the work came through.
    """

    categories: tuple[str, ...] = ()
    source: str = ""
    schema_version: str = ""
    inputs: tuple[str, ...] = ()
    text: str = ""
    supervised: bool = True
    history: Collection[str] = ()
    chain: Sequence[str] = ()


def score_relevance(synthesis: object, candidate: Candidate) -> Score:
    """Return how well *candidate* fits *synthesis*, 0 to 10.

    *synthesis* is a `Synthesis`, a mapping, or any object with those names; a handoff payload with
    `context`, `insights` and `meta` will do too.
    """
    found = read_synthesis(synthesis)
    return Score(
        (
            _problem_type(found.problem_type, candidate),
            _uncertainties(found.key_uncertainties, candidate),
            _implementation(found.synthesis_summary, candidate),
            _convergence(found.convergence_level, candidate),
            _nearness(candidate),
        )
    )


def score_query(query: Query, candidate: Candidate) -> Score:
    """Return how well *candidate* fits *query*, 0 to 100."""
    parts = [
        _asked("category", query.categories, candidate.categories, 40),
        _schema(query.schema_version, candidate),
        _asked("input", query.inputs, candidate.input_requirements, 20),
        _past(query.history, candidate),
        _autonomy(candidate, supervised=query.supervised),
    ]
    if candidate.skill in query.chain:
        parts.append(ScorePart("loop", _LOOP_PENALTY, 0, f"`{candidate.skill}` is in the chain already"))
    if (total := sum(part.points for part in parts)) < 0:
        parts.append(ScorePart("floor", -total, 0, "a score is never below 0"))
    return Score(parts)


def rank(candidates: Iterable[Candidate], *, synthesis: object) -> list[Ranked]:
    """Return *candidates*, best first, as they fit *synthesis*."""
    return _in_order(Ranked(each, score_relevance(synthesis, each)) for each in candidates)


def rank_for(candidates: Iterable[Candidate], query: Query) -> list[Ranked]:
    """Return those of *candidates* that answer *query*, best first."""
    return _in_order(Ranked(each, score_query(query, each)) for each in candidates if answers(each, query))


def shortlist(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the first three, and up to two more as long as they score at all."""
    return [each for place, each in enumerate(ranked[:_MOST]) if place < _FEWEST or each.score > 0]


def answers(candidate: Candidate, query: Query) -> bool:
    """Whether *candidate* has what *query* asks for, some of it at least where it asks for several."""
    return (
        _overlap(query.categories, candidate.categories)
        and _overlap(query.inputs, candidate.input_requirements)
        and (not query.source or candidate.admits(query.source))
        and (not query.schema_version or _understands(candidate, query.schema_version))
        and _words(query.text) <= _words(_all_text(candidate))
    )


# --- a synthesis, wherever it was written ---------------------------------------------------------


def read_synthesis(value: object) -> Synthesis:
    """Return what *value* says of the work so far, whichever of the payload versions it is in."""
    if isinstance(value, Synthesis):
        return value
    value = _field(value, "handoff") or value
    levels = [value, *(_field(value, name) for name in ("context", "insights", "payload", "meta"))]
    open_points = [
        point
        for name, level in (("key_uncertainties", 0), ("key_uncertainties", 3), ("uncertainties", 2))
        for point in _many(_field(levels[level], name))
    ]
    return Synthesis(
        _first_text(levels, "problem_type").lower(),
        _first_text(levels, "synthesis_summary") or _first_text(levels, "summary"),
        tuple(dict.fromkeys(open_points)),
        _first_text(levels, "convergence_level").lower(),
    )


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _first_text(levels: Iterable[object], name: str) -> str:
    found = (_field(level, name) for level in levels)
    return next((each.strip() for each in found if isinstance(each, str) and each.strip()), "")


def _many(value: object) -> list[str]:
    return [str(each) for each in value if each] if isinstance(value, list | tuple) else []


# --- the rules of the first scorer ----------------------------------------------------------------


def _problem_type(problem_type: str, candidate: Candidate) -> ScorePart:
    wanted = CATEGORIES.get(problem_type)
    if wanted is None:
        reason = f"there is no problem type `{problem_type}`" if problem_type else "no problem type is given"
        return ScorePart("problem type", 0, 3, reason)
    fitting = [each for each in wanted if each in candidate.categories]
    if fitting:
        return ScorePart("problem type", 3, 3, f"`{fitting[0]}` suits {_a(problem_type)} problem")
    return ScorePart("problem type", 0, 3, f"{_a(problem_type)} problem wants one of: {', '.join(wanted)}")


def _a(problem_type: str) -> str:
    return f"{'an' if problem_type[:1] in 'aeiou' else 'a'} {problem_type}"


def _uncertainties(open_points: Collection[str], candidate: Candidate) -> ScorePart:
    many = len(open_points) >= _MANY_UNCERTAINTIES
    reason = f"{len(open_points)} uncertainties are open, {_MANY_UNCERTAINTIES} call for research"
    return _if_also("uncertainties", "research", candidate, reason, holds=many)


def _implementation(summary: str, candidate: Candidate) -> ScorePart:
    word = _BUILDING.search(summary)
    reason = f"the summary says `{word[0]}`" if word else "the summary speaks of building nothing"
    return _if_also("implementation", "implementation", candidate, reason, holds=word is not None)


def _convergence(level: str, candidate: Candidate) -> ScorePart:
    reason = f"the convergence is {level or 'not given'}"
    return _if_also("convergence", "research", candidate, reason, holds=level in _LOW_CONVERGENCE)


def _nearness(candidate: Candidate) -> ScorePart:
    near = candidate.scope is Scope.PROJECT
    return ScorePart("scope", int(near), 1, f"its scope is {candidate.scope.value}")


def _if_also(rule: str, category: str, candidate: Candidate, reason: str, *, holds: bool) -> ScorePart:
    """Return two points where *reason* *holds* and the candidate has *category*."""
    able = category in candidate.categories
    if holds and not able:
        reason = f"{reason}, but `{category}` is not among its categories"
    return ScorePart(rule, 2 if holds and able else 0, 2, reason)


# --- the rules of the second scorer ---------------------------------------------------------------


def _asked(rule: str, wanted: Sequence[str], offered: Sequence[str], most: int) -> ScorePart:
    """Return all points where everything wanted is offered, half of them where something is."""
    common = [each for each in wanted if each in offered]
    if not wanted:
        return ScorePart(rule, 0, most, f"no {rule} is asked for")
    if not common:
        return ScorePart(rule, 0, most, f"none of: {', '.join(wanted)}")
    if len(common) == len(wanted):
        return ScorePart(rule, most, most, f"has {', '.join(common)}")
    return ScorePart(rule, most // 2, most, f"has {', '.join(common)} of: {', '.join(wanted)}")


def _schema(sent: str, candidate: Candidate) -> ScorePart:
    sent = sent or VERSIONS[-1]
    fit = compatibility(sent, candidate.schema_version)
    reason = f"{sent} to {candidate.schema_version}: {fit.verdict.value}, {fit.reason}"
    if fit.verdict is CompatibilityLevel.YES:
        return ScorePart("schema", 20, 20, reason)
    universal = candidate.schema_type == "universal"
    return ScorePart("schema", 10 if universal else 0, 20, f"{reason}; universal" if universal else reason)


def _past(history: Collection[str], candidate: Candidate) -> ScorePart:
    known = candidate.skill in history
    return ScorePart(
        "history", 10 if known else 0, 10, f"{'a' if known else 'no'} handoff to it has succeeded"
    )


def _autonomy(candidate: Candidate, *, supervised: bool) -> ScorePart:
    wanted = "supervised" if supervised else "on its own"
    if candidate.autonomous is None:
        return ScorePart("autonomy", 0, 10, "it does not say whether it works on its own")
    works = "on its own" if candidate.autonomous else "supervised"
    fits = candidate.autonomous is not supervised
    return ScorePart("autonomy", 10 if fits else 0, 10, f"works {works}, {wanted} is asked for")


# --- queries and order ----------------------------------------------------------------------------


def _overlap(wanted: Sequence[str], offered: Sequence[str]) -> bool:
    return not wanted or any(each in offered for each in wanted)


def _understands(candidate: Candidate, version: str) -> bool:
    return compatibility(version, candidate.schema_version).verdict is CompatibilityLevel.YES


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _all_text(candidate: Candidate) -> str:
    texts = (candidate.skill, candidate.name, candidate.description, *candidate.categories, *candidate.tags)
    return " ".join(texts)


def _in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(
        ranked,
        key=lambda each: (-each.score, each.candidate.priority, each.candidate.scope, each.candidate.skill),
    )
