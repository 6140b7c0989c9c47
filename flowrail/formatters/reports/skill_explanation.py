"""Why a skill is offered or not, for `flow discover --why`."""

from __future__ import annotations

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import Discovery
from flowrail.discovery.ranking.explain import SkillExplanation
from flowrail.discovery.ranking.menu import Menu, MenuRequest
from flowrail.discovery.ranking.scores import Score, misses
from flowrail.formatters.reports.menu import notes, skipped_section
from flowrail.text.phrases import joined, near
from flowrail.text.report import FilePath, Report, line, paragraphs, section, title
from flowrail.text.safe_text import shortened

_FIELDS = (
    "name", "description", "categories", "accepts_from", "provides_to", "schema_version", "schema_type",
    "input_requirements", "output_types", "requires", "optional_consumes", "trigger", "health_check",
    "duration", "complexity", "autonomous", "version", "priority", "tags", "remarks",
)  # fmt: skip


def report(explanation: SkillExplanation, menu: Menu, discovery: Discovery) -> Report:
    """Return the verdict on a name, the parts of its score, its declaration and the searched folders."""
    parts: list[Report] = [[title(shortened(explanation.verdict)), *_suggestion(explanation, discovery)]]
    if explanation.candidate:
        parts.append([_rank(explanation.candidate, menu)])
    if explanation.score is not None:
        parts.append(_parts(explanation.score, menu.asked))
    if explanation.candidate:
        parts.append(_declared(explanation.candidate))
    parts += [
        _searched_folders(explanation),
        skipped_section(explanation.skipped),
        notes(explanation.notes),
    ]
    return paragraphs(*parts)


def data(explanation: SkillExplanation, menu: Menu) -> dict[str, object]:
    """Return the same as plain data, in the form of a menu with at most one candidate."""
    candidate = explanation.candidate
    rank = menu.place(candidate) if candidate else 0
    return {
        "skill": explanation.name,
        "verdict": explanation.verdict,
        "locations": [{**root.data(), "found": list(paths)} for root, paths in explanation.places],
        "candidates": [candidate.data()] if candidate else [],
        "skipped": [skill.data() for skill in explanation.skipped],
        "notes": [note.data() for note in explanation.notes],
        "score": None if explanation.score is None else explanation.score.data(),
        "place": rank,
        "fits": rank > 0,
        "misses": list(misses(candidate, menu.asked.query)) if candidate else [],
    }


def _rank(candidate: Candidate, menu: Menu) -> str:
    if rank := menu.place(candidate):
        menu_note = "" if rank <= menu.length else f"; the menu shows {menu.length}"
        return f"Number {rank} of {len(menu.ranked)} in the list of skills that fit{menu_note}."
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


def _searched_folders(explanation: SkillExplanation) -> Report:
    lines = [
        line(
            "  ",
            FilePath(root.path),
            f" ({root.origin}): ",
            shortened(root.problem) or ", ".join(map(shortened, paths)) or "not found",
        )
        for root, paths in explanation.places
    ]
    return section("Searched folders", lines)


def _suggestion(explanation: SkillExplanation, discovery: Discovery) -> list[str]:
    if explanation.candidate or explanation.skipped:
        return []
    known = [*(skill.skill for skill in discovery.candidates), *(skill.skill for skill in discovery.skipped)]
    close = near(explanation.name, known)
    return [f"Did you mean {', '.join(f'`{shortened(name, 80)}`' for name in close)}?"] if close else []
