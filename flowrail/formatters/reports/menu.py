"""Skills to choose from: as text for people, as data for programs.

What skills say of themselves is foreign: each piece becomes one visible line, cut where it is long.
"""

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
    """Return the menu: those to choose from with their scores and why, or why there is nothing.

    With *everything* all that fit, and then those that do not, those hidden and those passed over;
    *command* with `--all` is what tells of them.
    """
    told = list(remarks(discovery))
    parts = [
        _nothing(menu.nothing, discovery) if menu.nothing else _offers(menu, command, everything=everything)
    ]
    if everything:
        parts += [
            _unfit(menu.unfit, len(menu.unfit)),
            hidden(discovery.hidden),
            passed_over(discovery.skipped),
        ]
        told += [note for each in discovery.candidates for note in each.notes]
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
    """Return the same for a program: all that fit, or the first *top*; ``shown`` marks those of the menu."""
    return {
        "candidates": items(menu, everything=everything, top=top),
        "skipped": [each.data() for each in discovery.skipped],
        "hidden": [each.data() for each in discovery.hidden],
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


def items(menu: Menu, *, everything: bool = False, top: int | None = None) -> list[dict[str, Any]]:
    """Return those that fit, or the first *top*, and with *everything* those that do not, for a program."""
    fitting = [_item(each, menu.asked, place <= menu.length) for place, each in menu.places[:top]]
    unfit = [_unfit_item(each.candidate, each.reasons, menu.asked) for each in menu.unfit]
    return fitting + (unfit if everything else [])


def bundled(menu: Menu, *, everything: bool = False) -> str:
    """Return the bundled skills that can take over: there without being installed, so in few words."""
    shown = menu.ranked if everything else menu.ranked[: menu.length]
    width = max((len(each.candidate.skill) for each in shown), default=0)
    lines = [
        f"  {each.candidate.skill:{width}}  {int(each.score):2d} of {menu.asked.most}"
        f"  {shortened(each.candidate.description, 90)}"
        for each in shown
    ]
    left = len(menu.ranked) - len(shown)
    more = [f"  {left} more with `flow discover --all`"] if left else []
    return section("Bundled, and able to take over without being installed", [*lines, *more])


def place_data(root: Root) -> dict[str, Any]:
    """Return a place where skills could be as plain data; ``problem`` is empty for a usable one."""
    return {"path": root.path, "scope": root.scope.value, "origin": root.origin, "problem": root.problem}


def names(candidate: Candidate) -> str:
    """Return what a skill goes by: its folder, and what it calls itself where that is something else."""
    called = (
        "" if candidate.name in {"", candidate.skill} else f" (calls itself {shortened(candidate.name, 80)})"
    )
    return f"{shortened(candidate.skill, 80)}{called}"


def hidden(candidates: Iterable[Candidate]) -> str:
    """Return those that would be offered if no nearer folder had their name."""
    lines = [
        f"  {names(each)}: {shortened(each.path)}, hidden by {shortened(each.hidden_by)}"
        for each in candidates
    ]
    return section("Hidden by a nearer folder of the name", lines)


def passed_over(skipped: Iterable[Skipped]) -> str:
    """Return those passed over by what kept them out, so that what to do about it stands once."""
    by_code: dict[str, list[str]] = {}
    for each in skipped:
        place = f"{each.path}:{each.line}" if each.line else each.path
        text = f"    {shortened(each.skill, 80)}: {shortened(each.reason)}{position(place)}"
        by_code.setdefault(each.code, []).append(text)
    lines = [text for code, items in by_code.items() for text in (f"  {code}: {HINTS[code]}", *items)]
    return section("Passed over", lines)


def _offers(menu: Menu, command: str, *, everything: bool) -> str:
    fitting = f"{count(len(menu.ranked), 'skill')} can take over"
    others = f", of {len(menu.ranked) + len(menu.unfit)} that accept handoffs" if menu.unfit else ""
    to = "what is asked for" if menu.asked.synthesis is None else "what the work has shown"
    parts = [f"{fitting}{others}. Score: fit to {to}, 0 to {menu.asked.most}."]
    shown = menu.places if everything else menu.places[: menu.length]
    parts += [_offer(place, each, menu.asked) for place, each in shown]
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
    return "; ".join(given) or "nothing counts for it"


def _schema(candidate: Candidate, asked: MenuRequest) -> str:
    fit = asked.schema(candidate)
    legacy = ", legacy dialect" if candidate.legacy else ""
    return f"{shortened(candidate.schema_version, 20)}: {fit.verdict.value}, {shortened(fit.reason)}{legacy}"


def _duration(candidate: Candidate) -> str:
    return (
        f"takes {shortened(candidate.duration, 60)}"
        if candidate.duration
        else "does not say how long it takes"
    )


def _whereabouts(candidate: Candidate) -> str:
    return f"lives elsewhere{position(candidate.path)}" if candidate.remote else candidate.scope.value


def _nothing(nothing: EmptyMenu, discovery: Discovery) -> str:
    lines = [nothing.message, nothing.hint]
    if nothing.code == "NONE_INSTALLED":
        lines.append("Looked in:")
        lines += [
            f"  {shortened(each.path)} ({each.origin}){position(each.problem)}"
            for each in discovery.places.roots
        ]
    if nothing.code == "NONE_ACCEPTS":
        lines += [f"  {many} {code}: {HINTS[code]}" for code, many in nothing.codes.items()]
    return "\n".join(lines)


def _counted(skipped: Sequence[Skipped], command: str) -> str:
    if not skipped:
        return ""
    counts = ", ".join(f"{many} {code}" for code, many in Counter(each.code for each in skipped).items())
    return (
        f"Passed over: {counts}. `{command} --all` tells of each, `flow discover --why NAME` all about one."
    )


def _unfit(unfit: Sequence[Unfit], most: int) -> str:
    lines = [f"  {names(each.candidate)}: {'; '.join(map(shortened, each.reasons))}" for each in unfit[:most]]
    if len(unfit) > most:
        lines.append(f"  and {len(unfit) - most} more; --all has them all")
    return section("Accept handoffs, but do not fit what is asked for", lines)


def _cache(kept: SessionMenu | None) -> str:
    if kept is None:
        return ""
    if not kept.used:
        return f"Found anew, since {kept.reason}; kept for this session in {shortened(kept.path)}."
    best = sorted(kept.scores.items(), key=lambda each: -each[1])
    ranked = joined([f"{skill} {score}" for skill, score in best])
    when = f"{kept.timestamp:%Y-%m-%d %H:%M:%S %Z}"
    return (
        f"The same as found for this session at {when} ({shortened(kept.path)}); `--rescan` looks anew."
        f"{f' Relevance to its work, of 10: {ranked}.' if ranked else ''}"
    )


def _item(ranked: Ranked, asked: MenuRequest, shown: bool) -> dict[str, Any]:
    return {
        **ranked.candidate.data(),
        **ranked.score.data(),
        "most": asked.most,
        "schema": asked.schema(ranked.candidate)._asdict(),
        "fits": True,
        "misses": [],
        "shown": shown,
    }


def _unfit_item(candidate: Candidate, reasons: Sequence[str], asked: MenuRequest) -> dict[str, Any]:
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
