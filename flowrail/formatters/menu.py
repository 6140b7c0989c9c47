"""Skills to choose from, and why one is offered or not: as text for people, as data for programs.

What skills say of themselves is foreign: each piece becomes one visible line here, cut where it is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.index import Discovery, Nothing
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.menu import Asked, Menu, misses
from flowrail.discovery.notes import HINTS, Note
from flowrail.discovery.ranking import Ranked, Score
from flowrail.discovery.session_cache import Kept
from flowrail.discovery.why import Why
from flowrail.formatters.escape import one_line
from flowrail.machines.wording import near

MOST_NOTES = 20
_LONGEST = 240
_MOST_VALUES = 12
_FIELDS = (
    "name", "description", "categories", "accepts_from", "provides_to", "schema_version", "schema_type",
    "input_requirements", "output_types", "requires", "optional_consumes", "trigger", "health_check",
    "duration", "complexity", "autonomous", "version", "priority", "tags", "remarks",
)  # fmt: skip


# --- as text --------------------------------------------------------------------------------------


def render(menu: Menu, discovery: Discovery, *, kept: Kept | None = None, everything: bool = False) -> str:
    """Return the menu: those to choose from with their scores and why, or why there is nothing.

    With *everything* also those that do not fit, those hidden and those passed over.
    """
    parts = [_nothing(menu.nothing, discovery) if menu.nothing else _offers(menu, everything=everything)]
    if everything:
        parts += [_unfit(menu), _hidden(discovery.hidden), _passed_over(discovery.skipped)]
    elif discovery.skipped and not menu.nothing:
        parts.append(_counted(discovery.skipped))
    own = [note for each in discovery.candidates for note in each.notes] if everything else []
    parts += [notes([*_unusable(discovery.places.roots), *discovery.notes, *own]), _cache(kept)]
    return "\n\n".join(filter(None, parts))


def render_why(why: Why, menu: Menu, discovery: Discovery) -> str:
    """Return all there is to say about one name."""
    candidate = why.candidate
    parts = [f"{_line(why.verdict)}{_meant(why, discovery)}"]
    if candidate:
        parts.append(_standing(candidate, menu))
    if why.score is not None:
        parts.append(_parts(why.score, menu.asked))
    if candidate:
        parts.append(_declared(candidate))
    parts += [_places(why), _hidden(why.hidden), _passed_over(why.skipped), notes(why.notes)]
    return "\n\n".join(filter(None, parts))


def notes(told: Iterable[Note], most: int = MOST_NOTES) -> str:
    """Return what there is to know, each with what would mend it, at most so many."""
    each = list(dict.fromkeys(told))
    lines = [f"  {note.code}: {_line(note.reason)}{_at(note.place)}\n    {note.hint}" for note in each[:most]]
    return _section("To know", [*lines, *_more(len(each) - most)])


def _offers(menu: Menu, *, everything: bool) -> str:
    shown = menu.ranked if everything else menu.shown
    scorer = "what is asked for" if menu.asked.synthesis is None else "what the work has shown"
    accepting = len(menu.ranked) + len(menu.unfit)
    fitting = f"{_count(len(menu.ranked), 'skill')} can take over"
    head = f"{fitting}, of {accepting} that accept handoffs" if menu.unfit else fitting
    lines = [f"{head}; the score, 0 to {menu.asked.most}, is their fit to {scorer}."]
    lines += [_offer(place, each, menu.asked) for place, each in enumerate(shown, 1)]
    if left := len(menu.ranked) - len(shown):
        lines.append(f"{left} more with `flow discover --all`.")
    return "\n\n".join(lines)


def _offer(place: int, ranked: Ranked, asked: Asked) -> str:
    candidate, score = ranked
    fit = asked.schema(candidate)
    takes = f"takes {_line(candidate.duration, 60)}" if candidate.duration else "does not say how long it takes"
    where = "lives elsewhere" if candidate.remote else candidate.scope.value
    marks = [where, f"schema {_line(candidate.schema_version, 20)}: {_line(fit.verdict.value)}, {_line(fit.reason)}"]
    marks += ["legacy dialect"] if candidate.legacy else []
    lines = [
        f"{place}. {_names(candidate)}  {int(score)} of {asked.most}",
        f"   {_line(candidate.description)}",
        f"   why: {_reasons(score)}",
        f"   {' · '.join([*marks, takes])}",
        f"   for {_values(candidate.categories)}",
    ]
    if candidate.input_requirements:
        lines.append(f"   needs {_values(candidate.input_requirements)}")
    return "\n".join(lines)


def _reasons(score: Score) -> str:
    given = [f"{part.rule} {part.points:+d} ({_line(part.reason, 120)})" for part in score.parts if part.points]
    return "; ".join(given) or "nothing counts for it"


def _nothing(nothing: Nothing, discovery: Discovery) -> str:
    lines = [nothing.message, nothing.hint]
    if nothing.code == "NONE_INSTALLED":
        lines.append("Looked in:")
        lines += [f"  {_root(root)}{_colon(root.problem)}" for root in discovery.places.roots]
    elif nothing.codes:
        lines.append("Not offered:")
        lines += [f"  {count} {code}: {HINTS[code]}" for code, count in nothing.codes.items()]
    return "\n".join(lines)


def _counted(skipped: Sequence[Skipped]) -> str:
    codes: dict[str, int] = {}
    for each in skipped:
        codes[each.code] = codes.get(each.code, 0) + 1
    counts = ", ".join(f"{count} {code}" for code, count in codes.items())
    return f"Passed over: {counts}. `flow discover --all` tells of each, `--why NAME` all about one."


def _unfit(menu: Menu) -> str:
    lines = [f"  {_names(each.candidate)}: {'; '.join(_line(why) for why in each.reasons)}" for each in menu.unfit]
    return _section("Accept handoffs, do not fit what was asked", lines)


def _hidden(hidden: Iterable[Candidate]) -> str:
    lines = [f"  {_names(each)}: {_line(each.path)}, by {_line(each.hidden_by)}" for each in hidden]
    return _section("Hidden by a nearer folder of the name", lines)


def _passed_over(skipped: Iterable[Skipped]) -> str:
    """Return those skipped by what kept them out, so that each hint stands once."""
    by_code: dict[str, list[str]] = {}
    for each in skipped:
        place = f"{each.path}:{each.line}" if each.line else each.path
        by_code.setdefault(each.code, []).append(f"    {_line(each.skill, 80)}: {_line(each.reason)}{_at(place)}")
    lines = [line for code, items in by_code.items() for line in (f"  {code}: {HINTS[code]}", *items)]
    return _section("Passed over", lines)


def _cache(kept: Kept | None) -> str:
    if kept is None:
        return ""
    when = f"{kept.timestamp:%Y-%m-%d %H:%M:%S %Z}"
    if kept.used:
        return f"As found for this session at {when} ({_line(kept.path)}); `--rescan` looks anew."
    return f"Found anew, since {kept.reason}; kept for this session in {_line(kept.path)}."


def _standing(candidate: Candidate, menu: Menu) -> str:
    place = menu.place(candidate)
    if place:
        left = "" if place <= menu.length else f"; the menu shows {menu.length}"
        return f"Place {place} of {_count(len(menu.ranked), 'skill')} that fit{left}."
    return f"It does not fit what was asked: {'; '.join(map(_line, misses(candidate, menu.asked.query)))}."


def _parts(score: Score, asked: Asked) -> str:
    width = max(len(part.rule) for part in score.parts)
    lines = [f"  {part.rule:{width}}  {part.points:3d} of {part.most:2d}  {_line(part.reason)}" for part in score.parts]
    return "\n".join([f"Score {int(score)} of {asked.most}", *lines])


def _declared(candidate: Candidate) -> str:
    """Return what the skill declares, and under which key each field was read."""
    rows = [(field, getattr(candidate, field)) for field in _FIELDS]
    lines = []
    for field, value in rows:
        if value not in (None, "", ()):
            origin = candidate.origins.get(field)
            text = _values(value) if isinstance(value, tuple) else _line(str(value))
            lines.append(f"  {field}: {text}{f'  (from {_line(origin, 60)})' if origin else ''}")
    return _section("Reads as", lines)


def _places(why: Why) -> str:
    lines = [
        f"  {_root(seen.root)}: {seen.root.problem or ', '.join(map(_line, seen.paths)) or 'nothing of that name'}"
        for seen in why.places
    ]
    return _section("Looked in", lines)


def _meant(why: Why, discovery: Discovery) -> str:
    if why.candidate or why.skipped:
        return ""
    known = [*(each.skill for each in discovery.candidates), *(each.skill for each in discovery.skipped)]
    close = near(why.name, known)
    return f"\nDid you mean {', '.join(f'`{_line(each, 80)}`' for each in close)}?" if close else ""


def _unusable(roots: Iterable[Root]) -> Iterator[Note]:
    for root in roots:
        asked_for = root.scope is Scope.EXTRA
        if root.problem and (asked_for or not root.problem.startswith(("missing", "same folder"))):
            yield Note("UNUSABLE_PLACE", f"nothing can be found in {root.path}: {root.problem}")


def _names(candidate: Candidate) -> str:
    called = "" if candidate.name in {"", candidate.skill} else f" (calls itself {_line(candidate.name, 80)})"
    return f"{_line(candidate.skill, 80)}{called}"


def _root(root: Root) -> str:
    return f"{_line(root.path)} ({root.origin})"


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""


def _more(count: int) -> list[str]:
    return [f"  and {count} more; --json has all"] if count > 0 else []


def _at(place: str) -> str:
    return f" ({_line(place)})" if place else ""


def _colon(text: str) -> str:
    return f": {_line(text)}" if text else ""


def _values(values: Sequence[str]) -> str:
    more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
    return ", ".join(_line(each, 60) for each in values[:_MOST_VALUES]) + more


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _line(text: str, longest: int = _LONGEST) -> str:
    line = one_line(text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


# --- as data --------------------------------------------------------------------------------------


def data(
    menu: Menu, discovery: Discovery, *, kept: Kept | None = None, everything: bool = False, top: int | None = None
) -> dict[str, Any]:
    """Return the menu as plain data: all that fit, or the first *top*; with *everything* those that do not."""
    candidates = [
        _item(each, menu, shown=place < menu.length) for place, each in enumerate(menu.ranked[:top])
    ]
    if everything:
        candidates += [_unfit_item(each.candidate, each.reasons, menu.asked) for each in menu.unfit]
    return {
        "candidates": candidates,
        "skipped": [each.data() for each in discovery.skipped],
        "hidden": [each.data() for each in discovery.hidden],
        "notes": [note.data() for note in discovery.notes],
        "places": [_place_item(root) for root in discovery.places.roots],
        "counts": {
            "skills": discovery.skills,
            "accepting": len(discovery.candidates),
            "fitting": len(menu.ranked),
            "shown": menu.length,
        },
        "scorer": "query" if menu.asked.synthesis is None else "relevance",
        "nothing": menu.nothing._asdict() if menu.nothing else None,
        "cache": kept.data() if kept else None,
    }


def why_data(why: Why, menu: Menu) -> dict[str, Any]:
    """Return all there is to say about one name as plain data, in the form of a menu with one item."""
    candidate = why.candidate
    fits = candidate is not None and menu.place(candidate) > 0
    return {
        "candidates": [candidate.data()] if candidate else [],
        **why.data(),
        "fits": fits,
        "place": menu.place(candidate) if candidate else 0,
        "misses": list(misses(candidate, menu.asked.query)) if candidate and not fits else [],
    }


def _item(ranked: Ranked, menu: Menu, *, shown: bool) -> dict[str, Any]:
    return {
        **ranked.candidate.data(),
        **ranked.score.data(),
        "most": menu.asked.most,
        "schema": _schema(ranked.candidate, menu.asked),
        "fits": True,
        "misses": [],
        "shown": shown,
    }


def _unfit_item(candidate: Candidate, reasons: Sequence[str], asked: Asked) -> dict[str, Any]:
    return {
        **candidate.data(),
        "score": None,
        "parts": [],
        "most": asked.most,
        "schema": _schema(candidate, asked),
        "fits": False,
        "misses": list(reasons),
        "shown": False,
    }


def _schema(candidate: Candidate, asked: Asked) -> Mapping[str, str]:
    fit = asked.schema(candidate)
    return {"verdict": fit.verdict.value, "reason": fit.reason}


def _place_item(root: Root) -> dict[str, Any]:
    return {"path": root.path, "scope": root.scope.value, "origin": root.origin, "problem": root.problem}
