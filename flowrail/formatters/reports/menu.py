"""The menu of skills that can take over, as text for people and as data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import CODES, ERROR, INFO, Note
from flowrail.discovery.index import Discovery, EmptyMenu
from flowrail.discovery.ranking.menu import RELEVANCE, Menu, MenuRequest, remarks
from flowrail.discovery.ranking.scores import Ranked, Score
from flowrail.text.phrases import count, joined
from flowrail.text.report import FilePath, Line, Report, Span, Style, line, paragraphs, section
from flowrail.text.safe_text import shortened

if TYPE_CHECKING:
    from flowrail.discovery.menu_cache import CacheUse  # brings YAML

_MOST_UNFIT = 10
_SHOWN_IN_FULL = frozenset({"UNSUPPORTED_VERSION"})
"""Codes that are not errors, but listed by name also without --all."""
_ONLY_WITH_ALL = frozenset({"CLIENT_PREFERS_PERSONAL"})
"""Warnings about skills that hide others; hiding a skill is expected."""


def report(
    menu: Menu,
    discovery: Discovery,
    *,
    cache: CacheUse | None = None,
    everything: bool = False,
    command: str = "flow discover",
) -> Report:
    """Return the menu with scores and reasons, or the reason why it is empty.

    With *everything*, return all skills that fit, then those that do not, and the skipped ones. Skills that are skipped
    because of an error are always listed.
    """
    shown_notes = list(remarks(discovery))
    parts: list[Report] = (
        [_empty_menu(menu.nothing, discovery)]
        if menu.nothing
        else [*_offers(menu, command, everything=everything)]
    )
    if everything:
        parts += [
            _unfit(menu.unfit, len(menu.unfit)),
            skipped_section(discovery.skipped),
        ]
        shown_notes += [note for candidate in discovery.candidates for note in candidate.notes]
    else:
        parts.append(_unfit(menu.unfit, _MOST_UNFIT) if menu.nothing else [])
        listed = [
            skill for skill in discovery.skipped if skill.severity == ERROR or skill.code in _SHOWN_IN_FULL
        ]
        parts.append(skipped_section(listed, "Cannot take over"))
        parts.append(_skipped_counts([skill for skill in discovery.skipped if skill not in listed], command))
        shown_notes = [
            note for note in shown_notes if note.severity != INFO and note.code not in _ONLY_WITH_ALL
        ]
    parts += [notes(shown_notes), _cache(cache)]
    return paragraphs(*parts)


def data(
    menu: Menu,
    discovery: Discovery,
    *,
    cache: CacheUse | None = None,
    everything: bool = False,
    top: int | None = None,
) -> dict[str, Any]:
    """Return the same as data: all skills that fit, or the first *top*; ``shown`` marks those of the menu."""
    return {
        "candidates": items(menu, everything=everything, top=top),
        "skipped": [skill.data() for skill in discovery.skipped],
        "notes": [note.data() for note in remarks(discovery)],
        "locations": [root.data() for root in discovery.places.roots],
        "counts": {
            "skills": discovery.skills,
            "accepting": len(discovery.candidates),
            "fitting": len(menu.ranked),
            "shown": menu.length,
        },
        "scorer": menu.asked.scorer,
        "nothing": menu.nothing._asdict() if menu.nothing else None,
        "cache": cache.data() if cache else None,
    }


def items(menu: Menu, *, everything: bool = False, top: int | None = None) -> list[dict[str, object]]:
    """Return the skills that fit, or the first *top*; with *everything* also the others."""
    fitting = [_item(ranked, menu.asked, rank <= menu.length) for rank, ranked in menu.places[:top]]
    unfit = [_item(ranked, menu.asked, False) for ranked in menu.unfit]
    return fitting + (unfit if everything else [])


def bundled(menu: Menu, *, everything: bool = False) -> Report:
    """Return the bundled skills that can take over, one line each."""
    shown = menu.ranked if everything else menu.ranked[: menu.length]
    width = max((len(ranked.candidate.skill) for ranked in shown), default=0)
    lines = [
        f"  {ranked.candidate.skill:{width}}{_score(ranked, menu.asked)}"
        f"  {shortened(ranked.candidate.description, 90)}"
        for ranked in shown
    ]
    hidden_count = len(menu.ranked) - len(shown)
    more = [f"  {hidden_count} more with `flow discover --all`"] if hidden_count else []
    return section("Bundled skills that can take over", [*lines, *more])


def options(menu: Menu, command: str, *, everything: bool = False) -> str:
    """Return the menu as options for the user, from C on: A and B accept and refine the result of the work."""
    letters = islice(ascii_uppercase, 2, None)
    shown = shown_places(menu, everything=everything)
    lines = [
        f"{letter}. {names(ranked.candidate)}: {shortened(ranked.candidate.description)}"
        + (f" (score: {int(ranked.score)} of {menu.asked.most})" if ranked.score is not None else "")
        for letter, (_, ranked) in zip(letters, shown, strict=False)
    ]
    return "\n".join([*lines, *_more(menu, shown, command)])


def shown_places(menu: Menu, *, everything: bool) -> list[tuple[int, Ranked]]:
    """Return the skills of a menu that are printed, each with its place: the first ones, or all that fit."""
    return menu.places if everything else menu.places[: menu.length]


def names(candidate: Candidate) -> str:
    """Return the folder of a skill, and its own name if it differs."""
    own_name = (
        "" if candidate.name in {"", candidate.skill} else f" (its name is {shortened(candidate.name, 80)})"
    )
    return f"{shortened(candidate.skill, 80)}{own_name}"


def skipped_section(skipped: Iterable[Skipped], name: str = "Skipped") -> Report:
    """Return the skipped skills by reason, with one hint for each reason."""
    by_code: dict[str, list[str]] = {}
    for skill in skipped:
        location = f"{skill.path}:{skill.line}" if skill.line else skill.path
        text = f"    {shortened(skill.skill, 80)}: {shortened(skill.reason)}{position(location)}"
        by_code.setdefault(skill.code, []).append(text)
    lines = [text for code, items in by_code.items() for text in (f"  {code}: {CODES[code].hint}", *items)]
    return section(name, lines)


def _offers(menu: Menu, command: str, *, everything: bool) -> Iterator[Report]:
    fitting = f"{count(len(menu.ranked), 'skill')} can take over"
    accepting_text = f", of {len(menu.ranked) + len(menu.unfit)} that accept handoffs" if menu.unfit else ""
    yield [f"{fitting}{accepting_text}. {_order(menu.asked)}"]
    shown = shown_places(menu, everything=everything)
    yield from (_offer(rank, ranked, menu.asked) for rank, ranked in shown)
    yield _more(menu, shown, command)


def _more(menu: Menu, shown: Sequence[object], command: str) -> list[str]:
    hidden_count = len(menu.ranked) - len(shown)
    return [f"{hidden_count} more with `{command} --all`."] if hidden_count else []


def _order(request: MenuRequest) -> str:
    """Return the order in which the skills are sorted."""
    if request.by is None:
        return "Sorted by scope and name; no filter or problem type to rank them by."
    subject = "the results of the work" if request.scorer == RELEVANCE else "the request"
    return f"Score: fit to {subject}, at most {request.most}."


def _offer(rank: int, ranked: Ranked, request: MenuRequest) -> Report:
    candidate = ranked.candidate
    lines: list[str | Line] = [
        line(f"{rank}. ", Span(names(candidate), Style.TITLE), _score(ranked, request)),
        f"   {shortened(candidate.description)}",
    ]
    if ranked.score is not None:
        lines.append(f"   why: {_reasons(ranked.score)}")
    version = shortened(candidate.schema_version, 20)
    duration = f"takes {shortened(candidate.duration, 60)}" if candidate.duration else "duration unknown"
    location = f"remote{position(candidate.path)}" if candidate.remote else candidate.scope.value
    lines += [f"   payload {version} · {duration} · {location}", f"   for {joined(candidate.categories)}"]
    if candidate.input_requirements:
        lines.append(f"   needs {joined(candidate.input_requirements)}")
    return lines


def _score(ranked: Ranked, request: MenuRequest) -> str:
    return "" if ranked.score is None else f"  {int(ranked.score):2d} of {request.most}"


def _reasons(score: Score) -> str:
    reasons = [
        f"{part.rule} {part.points:+d} ({shortened(part.reason, 120)})" for part in score.parts if part.points
    ]
    return "; ".join(reasons) or "no points"


def _empty_menu(empty_menu: EmptyMenu, discovery: Discovery) -> Report:
    lines: list[str | Line] = [empty_menu.message, empty_menu.hint]
    if empty_menu.code == "NONE_INSTALLED":
        lines.append("Looked in:")
        lines += [
            line("  ", FilePath(root.path), f" ({root.origin}){position(root.problem)}")
            for root in discovery.places.roots
        ]
    if empty_menu.code == "NONE_ACCEPTS":
        lines += [f"  {number} {code}: {CODES[code].hint}" for code, number in empty_menu.codes.items()]
    return lines


def _skipped_counts(skipped: Sequence[Skipped], command: str) -> Report:
    if not skipped:
        return []
    counts = ", ".join(
        f"{number} {code}" for code, number in Counter(skill.code for skill in skipped).items()
    )
    return [f"Skipped: {counts}. `{command} --all` lists them, `flow discover --why NAME` explains one."]


def _unfit(unfit: Sequence[Ranked], most: int) -> Report:
    lines = [
        f"  {names(skill.candidate)}: {'; '.join(map(shortened, skill.misses))}" for skill in unfit[:most]
    ]
    if len(unfit) > most:
        lines.append(f"  and {len(unfit) - most} more; --all lists them all")
    return section("Accept handoffs, but do not fit the request", lines)


def _cache(cache: CacheUse | None) -> Report:
    if cache is None:
        return []
    if cache.problem:
        return [f"The skills are not cached for this session: {shortened(cache.problem)}"]
    if not cache.used:
        reason = f"Searched again, because {cache.reason}; cached for this session in "
        return [line(reason, FilePath(cache.path), ".")]
    searched_at = f"{cache.timestamp:%Y-%m-%d %H:%M:%S %Z}"
    head = f"Cached for this session at {searched_at} in "
    return [line(head, FilePath(cache.path), "; `--rescan` searches again.")]


def _item(ranked: Ranked, request: MenuRequest, shown: bool) -> dict[str, object]:
    score = {"score": None, "parts": []} if ranked.score is None else ranked.score.data()
    fit_data = {
        "most": request.most,
        "fits": not ranked.misses,
        "misses": list(ranked.misses),
        "shown": shown,
    }
    return {**ranked.candidate.data(), **score, **fit_data}


MOST_NOTES = 20


def position(location: str) -> str:
    """Return a file and line in brackets."""
    return f" ({shortened(location, 240)})" if location else ""


def notes(all_notes: Iterable[Note], most: int = MOST_NOTES) -> Report:
    """Return notes with their hints; at most *most* of them."""
    unique = list(dict.fromkeys(all_notes))
    lines = [
        f"  {note.code}: {shortened(note.reason, 240)}{position(note.place)}\n    {note.hint}"
        for note in unique[:most]
    ]
    if len(unique) > most:
        lines.append(f"  and {len(unique) - most} more; --json has them all")
    return section("Notes", lines)
