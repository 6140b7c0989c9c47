"""The result of `flow doctor` for people: the facts and findings of each section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowrail.text.phrases import count
from flowrail.text.report import FilePath, Line, Report, Span, Style, line, paragraphs, status, title
from flowrail.text.safe_text import shortened

_MOST_KINDS = 20
_MOST_PLACES = 3


def report(examined: Mapping[str, Any]) -> Report:
    """Return a diagnosis for people; findings of one kind are listed together."""
    parts: list[Report] = [
        [title(name), *_facts(section["facts"]), *_found(name, examined["findings"])]
        for name, section in examined["sections"].items()
    ]
    errors, warnings = examined["errors"], examined["warnings"]
    if errors or warnings:
        style = Style.BAD if errors else Style.WARNING
        verdict = Span(f"{count(errors, 'error')}, {count(warnings, 'warning')}.", style)
    else:
        verdict = Span("nothing is wrong.", Style.GOOD)
    return paragraphs(*parts, [line(verdict)])


def _facts(facts: Sequence[str]) -> Iterator[str]:
    yield from (f"  {shortened(fact, 400)}" for fact in facts)


def _found(name: str, findings: Sequence[Mapping[str, Any]]) -> Iterator[str | Line]:
    by_kind: dict[tuple[str, str], list[Mapping[str, object]]] = {}
    for finding in findings:
        if finding["section"] == name:
            by_kind.setdefault((finding["severity"], finding["code"]), []).append(finding)
    kinds = sorted(by_kind.items(), key=lambda kind: kind[0][0])  # errors first
    for (severity, code), alike in kinds[:_MOST_KINDS]:
        yield from _kind(status(severity), code, alike)
    if len(kinds) > _MOST_KINDS:
        yield f"  and {len(kinds) - _MOST_KINDS} more kinds; --json has them all"


def _kind(severity: Span, code: str, alike: Sequence[Mapping[str, Any]]) -> Iterator[str | Line]:
    """Yield findings of one kind; a remedy that is the same for all is shown once."""
    times = f" ({len(alike)} times)" if len(alike) > 1 else ""
    common = len({finding["remedy"] for finding in alike}) == 1
    remedy = f": {shortened(alike[0]['remedy'])}" if common else ""
    yield line("  ", severity, f" {code}{times}{remedy}")
    for finding in alike[:_MOST_PLACES]:
        place = (" (", FilePath(finding["place"]), ")") if finding["place"] else ()
        yield line(f"    {shortened(finding['message'])}", *place)
        if not common:
            yield f"      {shortened(finding['remedy'])}"
    if len(alike) > _MOST_PLACES:
        yield f"    and {len(alike) - _MOST_PLACES} more; --json has them all"
