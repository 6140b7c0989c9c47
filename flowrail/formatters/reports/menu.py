"""The menu of skills that can take over, as text for people and as data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import HINTS
from flowrail.discovery.index import Discovery, EmptyMenu
from flowrail.discovery.locations import Root
from flowrail.discovery.ranking.menu import (
    Menu,
    MenuRequest,
    Unfit,
    remarks,
)
from flowrail.discovery.ranking.scores import Ranked, Score
from flowrail.formatters.reports.notes import notes, position
from flowrail.text.phrases import count, joined, section
from flowrail.text.safe_text import shortened

if TYPE_CHECKING:
    from flowrail.discovery.session_menu_cache import SessionMenu  # brings YAML

_MOST_UNFIT = 10


def render(
    menu: Menu,
    discovery: Discovery,
    *,
    kept: SessionMenu | None = None,
    everything: bool = False,
    command: str = "flow discover",
) -> str:
    """Return the menu with scores and reasons, or the reason why it is empty.

    With *everything*, return all skills that fit, then those that do not, the hidden and the skipped ones.
    """
    told = list(remarks(discovery))
    parts = [
        _nothing(menu.nothing, discovery) if menu.nothing else _offers(menu, command, everything=everything)
    ]
    if everything:
        parts += [
            _unfit(menu.unfit, len(menu.unfit)),
            hidden(discovery.hidden),
            skipped_section(discovery.skipped),
        ]
        told += [note for candidate in discovery.candidates for note in candidate.notes]
    else:
        parts.append(_unfit(menu.unfit, _MOST_UNFIT) if menu.nothing else "")
        parts.append(_counted(discovery.skipped, command))
    parts += [notes(told), _cache(kept)]
    return "\n\n".join(filter(None, parts))


def data(
    menu: Menu,
    discovery: Discovery,
    *,
    kept: SessionMenu | None = None,
    everything: bool = False,
    top: int | None = None,
) -> dict[str, Any]:
    """Return the same as data: all skills that fit, or the first *top*; ``shown`` marks those of the menu."""
    return {
        "candidates": items(menu, everything=everything, top=top),
        "skipped": [skill.data() for skill in discovery.skipped],
        "hidden": [candidate.data() for candidate in discovery.hidden],
        "notes": [note.data() for note in remarks(discovery)],
        "places": [place_data(root) for root in discovery.places.roots],
        "counts": {
            "skills": discovery.skills,
            "accepting": len(discovery.candidates),
            "fitting": len(menu.ranked),
            "shown": menu.length,
        },
        "scorer": menu.asked.scorer,
        "nothing": menu.nothing._asdict() if menu.nothing else None,
        "cache": kept.data() if kept else None,
    }


def items(menu: Menu, *, everything: bool = False, top: int | None = None) -> list[dict[str, object]]:
    """Return the skills that fit, or the first *top*; with *everything* also the others."""
    fitting = [_item(ranked, menu.asked, place <= menu.length) for place, ranked in menu.places[:top]]
    unfit = [_unfit_item(skill.candidate, skill.reasons, menu.asked) for skill in menu.unfit]
    return fitting + (unfit if everything else [])


def bundled(menu: Menu, *, everything: bool = False) -> str:
    """Return the bundled skills that can take over, one line each."""
    shown = menu.ranked if everything else menu.ranked[: menu.length]
    width = max((len(ranked.candidate.skill) for ranked in shown), default=0)
    lines = [
        f"  {ranked.candidate.skill:{width}}  {int(ranked.score):2d} of {menu.asked.most}"
        f"  {shortened(ranked.candidate.description, 90)}"
        for ranked in shown
    ]
    left = len(menu.ranked) - len(shown)
    more = [f"  {left} more with `flow discover --all`"] if left else []
    return section("Bundled skills that can take over", [*lines, *more])


def place_data(root: Root) -> dict[str, object]:
    """Return a folder of skills as plain data; ``problem`` is empty if it is usable."""
    return {"path": root.path, "scope": root.scope.value, "origin": root.origin, "problem": root.problem}


def names(candidate: Candidate) -> str:
    """Return the folder of a skill, and its own name if it is another."""
    called = (
        "" if candidate.name in {"", candidate.skill} else f" (its name is {shortened(candidate.name, 80)})"
    )
    return f"{shortened(candidate.skill, 80)}{called}"


def hidden(candidates: Iterable[Candidate]) -> str:
    """Return the skills that a nearer folder of the same name hides."""
    lines = [
        f"  {names(candidate)}: {shortened(candidate.path)}, hidden by {shortened(candidate.hidden_by)}"
        for candidate in candidates
    ]
    return section("Hidden by a nearer folder of the same name", lines)


def skipped_section(skipped: Iterable[Skipped]) -> str:
    """Return the skipped skills by reason, with one hint for each reason."""
    by_code: dict[str, list[str]] = {}
    for skill in skipped:
        place = f"{skill.path}:{skill.line}" if skill.line else skill.path
        text = f"    {shortened(skill.skill, 80)}: {shortened(skill.reason)}{position(place)}"
        by_code.setdefault(skill.code, []).append(text)
    lines = [text for code, items in by_code.items() for text in (f"  {code}: {HINTS[code]}", *items)]
    return section("Skipped", lines)


def _offers(menu: Menu, command: str, *, everything: bool) -> str:
    fitting = f"{count(len(menu.ranked), 'skill')} can take over"
    others = f", of {len(menu.ranked) + len(menu.unfit)} that accept handoffs" if menu.unfit else ""
    to = "the request" if menu.asked.synthesis is None else "the results of the work"
    parts = [f"{fitting}{others}. Score: fit to {to}, 0 to {menu.asked.most}."]
    shown = menu.places if everything else menu.places[: menu.length]
    parts += [_offer(place, ranked, menu.asked) for place, ranked in shown]
    if left := len(menu.ranked) - len(shown):
        parts.append(f"{left} more with `{command} --all`.")
    return "\n\n".join(parts)


def _offer(place: int, ranked: Ranked, asked: MenuRequest) -> str:
    candidate, score = ranked
    lines = [
        f"{place}. {names(candidate)}  {int(score)} of {asked.most}",
        f"   {shortened(candidate.description)}",
        f"   why: {_reasons(score)}",
        f"   schema {_schema(candidate, asked)} · {_duration(candidate)} · {_whereabouts(candidate)}",
        f"   for {joined(candidate.categories)}",
    ]
    if candidate.input_requirements:
        lines.append(f"   needs {joined(candidate.input_requirements)}")
    return "\n".join(lines)


def _reasons(score: Score) -> str:
    given = [
        f"{part.rule} {part.points:+d} ({shortened(part.reason, 120)})" for part in score.parts if part.points
    ]
    return "; ".join(given) or "no points"


def _schema(candidate: Candidate, asked: MenuRequest) -> str:
    fit = asked.schema(candidate)
    legacy = ", legacy dialect" if candidate.legacy else ""
    return f"{shortened(candidate.schema_version, 20)}: {fit.verdict.value}, {shortened(fit.reason)}{legacy}"


def _duration(candidate: Candidate) -> str:
    return f"takes {shortened(candidate.duration, 60)}" if candidate.duration else "duration unknown"


def _whereabouts(candidate: Candidate) -> str:
    return f"remote{position(candidate.path)}" if candidate.remote else candidate.scope.value


def _nothing(nothing: EmptyMenu, discovery: Discovery) -> str:
    lines = [nothing.message, nothing.hint]
    if nothing.code == "NONE_INSTALLED":
        lines.append("Looked in:")
        lines += [
            f"  {shortened(root.path)} ({root.origin}){position(root.problem)}"
            for root in discovery.places.roots
        ]
    if nothing.code == "NONE_ACCEPTS":
        lines += [f"  {many} {code}: {HINTS[code]}" for code, many in nothing.codes.items()]
    return "\n".join(lines)


def _counted(skipped: Sequence[Skipped], command: str) -> str:
    if not skipped:
        return ""
    counts = ", ".join(f"{many} {code}" for code, many in Counter(skill.code for skill in skipped).items())
    return f"Skipped: {counts}. `{command} --all` lists them, `flow discover --why NAME` explains one."


def _unfit(unfit: Sequence[Unfit], most: int) -> str:
    lines = [
        f"  {names(skill.candidate)}: {'; '.join(map(shortened, skill.reasons))}" for skill in unfit[:most]
    ]
    if len(unfit) > most:
        lines.append(f"  and {len(unfit) - most} more; --all lists them all")
    return section("Accept handoffs, but do not fit the request", lines)


def _cache(kept: SessionMenu | None) -> str:
    if kept is None:
        return ""
    if not kept.used:
        return f"New search, because {kept.reason}; cached for this session in {shortened(kept.path)}."
    best = sorted(kept.scores.items(), key=lambda item: -item[1])
    ranked = joined([f"{skill} {score}" for skill, score in best])
    when = f"{kept.timestamp:%Y-%m-%d %H:%M:%S %Z}"
    return (
        f"Cached for this session at {when} ({shortened(kept.path)}); `--rescan` searches again."
        f"{f' Relevance to its work, 0 to 10: {ranked}.' if ranked else ''}"
    )


def _item(ranked: Ranked, asked: MenuRequest, shown: bool) -> dict[str, object]:
    return {
        **ranked.candidate.data(),
        **ranked.score.data(),
        "most": asked.most,
        "schema": asked.schema(ranked.candidate)._asdict(),
        "fits": True,
        "misses": [],
        "shown": shown,
    }


def _unfit_item(candidate: Candidate, reasons: Sequence[str], asked: MenuRequest) -> dict[str, object]:
    return {
        **candidate.data(),
        "score": None,
        "parts": [],
        "most": asked.most,
        "schema": asked.schema(candidate)._asdict(),
        "fits": False,
        "misses": list(reasons),
        "shown": False,
    }
