"""Explain one skill: the searched folders, what hides it, why it is skipped, its score."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Root
from flowrail.discovery.ranking.scores import Query, Score, Synthesis, score_query, score_relevance


class SkillExplanation(NamedTuple):
    """Everything that is known about a name.

    ``verdict`` is one sentence. ``places`` are the searched folders, each with the paths of that name in it.
    ``candidate`` is the one that is offered, ``skipped`` are those that are not.
    There is a ``score`` if there was a request.
    """

    name: str
    verdict: str
    places: tuple[tuple[Root, tuple[str, ...]], ...]
    candidate: Candidate | None = None
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[Note, ...] = ()
    score: Score | None = None


def explain(discovery: Discovery, name: str, *, asked: Query | Synthesis | None = None) -> SkillExplanation:
    """Return everything that is known about the skill *name*, which is a folder's name or a label.

    *asked* is a `Query` or a synthesis. Without it there is no score.
    """
    candidates = [c for c in discovery.candidates if name in {c.skill, c.name}]
    skipped = tuple(s for s in discovery.skipped if name in {s.skill, s.name})
    chosen = next((c for c in candidates if c.skill == name), candidates[0] if candidates else None)
    named: list[Candidate | Skipped] = [*candidates, *skipped]
    locations = tuple(
        (root, tuple(skill.path for skill in named if skill.root == root.path))
        for root in discovery.places.roots
    )
    files = {skill.path for skill in named}
    notes = [note for note in discovery.notes if note.file in files]
    notes += [note for skill in named for note in skill.notes]
    verdict = _verdict(name, candidates, skipped)
    return SkillExplanation(name, verdict, locations, chosen, skipped, tuple(notes), _score(chosen, asked))


def _verdict(name: str, candidates: list[Candidate], skipped: tuple[Skipped, ...]) -> str:
    if len(candidates) > 1:
        paths = ", ".join(candidate.path for candidate in candidates)
        return f"{len(candidates)} skills have the name `{name}`: {paths}"
    if candidates:
        return f"`{name}` is offered, from {candidates[0].path}"
    if not skipped:
        return f"no skill named `{name}` was found"
    first = min(skipped, key=lambda skill: skill.code == "SHADOWED")
    return f"`{name}` is not offered: {first.reason}"


def _score(candidate: Candidate | None, asked: Query | Synthesis | None) -> Score | None:
    if candidate is None or asked is None:
        return None
    return score_query(asked, candidate) if isinstance(asked, Query) else score_relevance(asked, candidate)
