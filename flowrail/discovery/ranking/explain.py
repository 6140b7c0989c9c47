"""Why a skill is offered or not: each place looked at, who hides whom, what excluded it, its score.

Pure: everything is read off a `Discovery`.
"""

from __future__ import annotations

from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Root
from flowrail.discovery.ranking.scores import (
    Query,
    Score,
    score_query,
    score_relevance,
)


class LocationSeen(NamedTuple):
    """A place, and what of that name was seen there: paths, or why nothing could be."""

    root: Root
    paths: tuple[str, ...]


class Explanation(NamedTuple):
    """All there is to say about a name.

    ``verdict`` is one sentence. ``candidate`` is the one offered, ``hidden`` those it stands before and
    ``skipped`` what was passed over. ``score`` is there where something was asked for.
    """

    name: str
    verdict: str
    places: tuple[LocationSeen, ...]
    candidate: Candidate | None = None
    hidden: tuple[Candidate, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[Note, ...] = ()
    score: Score | None = None

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {
            "skill": self.name,
            "verdict": self.verdict,
            "places": [{**_plain(each.root), "found": list(each.paths)} for each in self.places],
            "candidate": self.candidate.data() if self.candidate else None,
            "hidden": [each.data() for each in self.hidden],
            "skipped": [each.data() for each in self.skipped],
            "notes": [each.data() for each in self.notes],
            "score": self.score.data() if self.score is not None else None,
        }


def explain(discovery: Discovery, name: str, *, asked: object = None) -> Explanation:
    """Return all there is to say about the skill called *name*, be it its folder or what it calls itself.

    *asked* is a `Query`, or a synthesis; without it nothing is scored.
    """
    candidates = [each for each in discovery.candidates if name in {each.skill, each.name}]
    hidden = tuple(each for each in discovery.hidden if name in {each.skill, each.name})
    skipped = tuple(each for each in discovery.skipped if name in {each.skill, each.name})
    chosen = next((each for each in candidates if each.skill == name), candidates[0] if candidates else None)
    named: list[Candidate | Skipped] = [*candidates, *skipped]
    seen = [(each.root, each.path) for each in named]
    places = tuple(
        LocationSeen(root, tuple(path for where, path in seen if where == root.path))
        for root in discovery.places.roots
    )
    files = {path for _, path in seen}
    told = [note for note in discovery.notes if note.file in files]
    own = [note for each in named for note in each.notes]
    return Explanation(
        name,
        _verdict(name, candidates, skipped),
        places,
        chosen,
        hidden,
        skipped,
        (*told, *own),
        _score(chosen, asked),
    )


def _verdict(name: str, candidates: list[Candidate], skipped: tuple[Skipped, ...]) -> str:
    if len(candidates) > 1:
        return (
            f"`{name}` is what {len(candidates)} skills go by: {', '.join(each.path for each in candidates)}"
        )
    if candidates:
        return f"`{name}` is offered, from {candidates[0].path}"
    if not skipped:
        return f"nothing called `{name}` was found in any place"
    first = min(skipped, key=lambda each: each.code == "SHADOWED")
    return f"`{name}` is not offered: {first.reason}"


def _score(candidate: Candidate | None, asked: object) -> Score | None:
    if candidate is None or asked is None:
        return None
    return score_query(asked, candidate) if isinstance(asked, Query) else score_relevance(asked, candidate)


def _plain(root: Root) -> dict[str, object]:
    return {"path": root.path, "scope": root.scope.value, "origin": root.origin, "problem": root.problem}
