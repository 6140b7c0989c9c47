"""The menu of skills that can take over, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from string import ascii_uppercase

from flowrail.discovery.candidate import Candidate, LeftOut, Skipped
from flowrail.discovery.compatibility import CompatibilityLevel
from flowrail.discovery.menu import Menu
from flowrail.discovery.scores import Offer
from flowrail.text.phrases import count, joined
from flowrail.text.report import (
    FilePath,
    Moment,
    Report,
    Span,
    Style,
    command,
    facts,
    line,
    paragraphs,
    section,
)
from flowrail.text.safe_text import shortened, visible

_FIT = {
    CompatibilityLevel.YES: "compatible",
    CompatibilityLevel.PARTIAL: "partly compatible",
    CompatibilityLevel.ADAPTER: "compatible",
    CompatibilityLevel.NO: "not compatible",
}


def report(menu: Menu, *, everything: bool = False) -> Report:
    """Return the menu with scores and reasons, or the reason why it is empty.

    With *everything*, return all skills that fit, then those that do not fit and those that were left out. Skills with
    an error are always listed.
    """
    shown = [offer for offer in menu.candidates if everything or offer.shown]
    wrong = [skipped for skipped in menu.skipped if skipped.is_wrong]
    others = [skipped for skipped in menu.skipped if not skipped.is_wrong]
    unfit = menu.unfit if everything or menu.nothing else ()
    return paragraphs(
        _nothing(menu),
        [_count(menu)] if shown else [],
        *(_offer(place, offer, menu.most) for place, offer in enumerate(shown, 1)),
        _more(menu, len(shown)),
        section(
            "Accept handoffs, but do not fit the request",
            [f"  {_names(offer)}: {'; '.join(map(shortened, offer.misses))}" for offer in unfit],
        ),
        section("Cannot take over", list(_left_out(wrong))),
        section("Left out", list(_left_out(others))) if everything else _left_out_count(others),
        section(
            "Locations that cannot be used", [f"  {shortened(r.path)}: {r.problem}" for r in menu.unusable]
        ),
        [line("Found ", Moment(menu.cached_at), "; --rescan searches again.")] if menu.cached_at else [],
    )


def options(menu: Menu, *, everything: bool = False) -> Report:
    """Return the menu as options for the user, from C on: A and B accept and refine the result of the work."""
    shown = [offer for offer in menu.candidates if everything or offer.shown]
    letters = islice(ascii_uppercase, 2, None)
    return [
        *(_option(letter, offer, menu.most) for letter, offer in zip(letters, shown, strict=False)),
        *_more(menu, len(shown)),
    ]


def _option(letter: str, offer: Offer, most: int) -> str:
    values = {"score:": "" if offer.score is None else f"{offer.score} of {most}", **_facts(offer)}
    known = "; ".join(f"{name} {value}" for name, value in values.items() if value)
    return f"{letter}. {_names(offer)}: {shortened(offer.description)} ({known})"


def _names(candidate: Candidate) -> str:
    """Return the folder of a skill, and its own name if it differs."""
    differs = candidate.name not in {"", candidate.skill}
    return shortened(candidate.skill, 80) + (
        f" (its name is {shortened(candidate.name, 80)})" if differs else ""
    )


def _count(menu: Menu) -> str:
    fitting = f"{count(len(menu.candidates), 'skill')} can take over"
    if menu.scorer == "none":
        return f"{fitting}, sorted by scope and name, because no filter or problem type ranks them."
    subject = "the results of the work" if menu.scorer == "relevance" else "the request"
    return f"{fitting}. Score: fit to {subject}, at most {menu.most}."


def _more(menu: Menu, shown: int) -> list[str]:
    hidden = len(menu.candidates) - shown
    return [f"{hidden} more with --all."] if hidden else []


def _offer(place: int, offer: Offer, most: int) -> Report:
    score = "" if offer.score is None else f"  {offer.score:2d} of {most}"
    yield line(f"{place}. ", Span(_names(offer), Style.TITLE), score)
    yield f"   {shortened(offer.description)}"
    values = {
        "why": "" if offer.score is None else _reasons(offer),
        **_facts(offer),
        "from": f"remote ({shortened(offer.path, 240)})" if offer.remote else offer.scope.value,
        "for": joined(offer.categories),
        "needs": joined(offer.input_requirements),
    }
    yield from facts(values, indent=3)
    if offer.command is not None:
        yield command(visible(str(offer.command)), indent=3)


def _facts(offer: Offer) -> dict[str, str]:
    fit = offer.compatibility
    lost = "" if fit.verdict is CompatibilityLevel.YES else f" ({shortened(fit.reason)})"
    return {
        "payload": f"{shortened(offer.schema_version, 20)}, {_FIT[fit.verdict]}{lost}",
        "takes": shortened(offer.duration or "an unknown time", 60),
        "refused": offer.refused,
    }


def _reasons(offer: Offer) -> str:
    parts = [
        f"{part.rule} {part.points:+d} ({shortened(part.reason, 120)})" for part in offer.parts if part.points
    ]
    return "; ".join(parts) or "no points"


def _nothing(menu: Menu) -> Report:
    if menu.nothing is not None:
        yield from (menu.nothing.message, menu.nothing.hint)
        for root in () if menu.skills else menu.searched:
            yield line(
                "  searched ", FilePath(root.path), f" ({root.origin}{root.problem and ', '}{root.problem})"
            )


def _left_out(skipped: Iterable[Skipped]) -> Iterator[str]:
    for skill in skipped:
        yield f"  {shortened(skill.skill, 80)}: {shortened(skill.reason, 400)} ({shortened(skill.place, 240)})"


def _left_out_count(skipped: list[Skipped]) -> Report:
    skills = [skill for skill in skipped if skill.kind is not LeftOut.NO_SKILL]
    return [f"{count(len(skills), 'skill')} left out; --all says why."] if skills else []
