"""Why a skill is offered or not, for `flow discover --why`."""

from __future__ import annotations

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import Discovery
from flowrail.discovery.ranking.explain import SkillExplanation
from flowrail.discovery.ranking.menu import Menu, MenuRequest
from flowrail.discovery.ranking.scores import Score, misses
from flowrail.formatters.reports.menu import hidden, notes, skipped_section
from flowrail.text.phrases import count, joined, near
from flowrail.text.report import FilePath, Report, line, paragraphs, section, title
from flowrail.text.safe_text import shortened

_FIELDS = (
    "name", "description", "categories", "accepts_from", "provides_to", "schema_version", "schema_type",
    "input_requirements", "output_types", "requires", "optional_consumes", "trigger", "health_check",
    "duration", "complexity", "autonomous", "version", "priority", "tags", "remarks",
)  # fmt: skip


def report(why: SkillExplanation, menu: Menu, discovery: Discovery) -> Report:
    """Return the verdict on a name, the parts of its score, its declaration and the searched folders."""
    parts: list[Report] = [[title(shortened(why.verdict)), *_suggestion(why, discovery)]]
    if why.candidate:
        parts.append([_rank(why.candidate, menu)])
    if why.score is not None:
        parts.append(_parts(why.score, menu.asked))
    if why.candidate:
        parts.append(_declared(why.candidate))
    parts += [_places(why), hidden(why.hidden), skipped_section(why.skipped), notes(why.notes)]
    return paragraphs(*parts)


def data(why: SkillExplanation, menu: Menu) -> dict[str, object]:
    """Return the same as plain data, in the form of a menu with at most one candidate."""
    candidate = why.candidate
    place = menu.place(candidate) if candidate else 0
    return {
        "candidates": [candidate.data()] if candidate else [],
        **why.data(),
        "place": place,
        "fits": place > 0,
        "misses": list(misses(candidate, menu.asked.query)) if candidate else [],
    }


def _rank(candidate: Candidate, menu: Menu) -> str:
    if place := menu.place(candidate):
        left = "" if place <= menu.length else f"; the menu shows {menu.length}"
        return f"Rank {place} of {count(len(menu.ranked), 'skill')} that fit{left}."
    return f"It does not fit the request: {'; '.join(map(shortened, misses(candidate, menu.asked.query)))}."


def _parts(score: Score, asked: MenuRequest) -> Report:
    width = max(len(part.rule) for part in score.parts)
    lines = [
        f"  {part.rule:{width}}  {part.points:3d} of {part.most:2d}  {shortened(part.reason)}"
        for part in score.parts
    ]
    return section(f"Score {int(score)} of {asked.most}", lines)


def _declared(candidate: Candidate) -> Report:
    """Return what the skill declares, and where each field was read."""
    lines = []
    for field in _FIELDS:
        value = getattr(candidate, field)
        if value not in (None, "", ()):
            text = joined(value) if isinstance(value, tuple) else shortened(str(value))
            origin = candidate.origins.get(field)
            lines.append(f"  {field}: {text}{f'  (from {shortened(origin, 60)})' if origin else ''}")
    return section("Declaration", lines)


def _places(why: SkillExplanation) -> Report:
    lines = [
        line(
            "  ",
            FilePath(seen.root.path),
            f" ({seen.root.origin}): ",
            shortened(seen.root.problem) or ", ".join(map(shortened, seen.paths)) or "not found",
        )
        for seen in why.places
    ]
    return section("Searched folders", lines)


def _suggestion(why: SkillExplanation, discovery: Discovery) -> list[str]:
    if why.candidate or why.skipped:
        return []
    known = [*(skill.skill for skill in discovery.candidates), *(skill.skill for skill in discovery.skipped)]
    close = near(why.name, known)
    return [f"Did you mean {', '.join(f'`{shortened(name, 80)}`' for name in close)}?"] if close else []
