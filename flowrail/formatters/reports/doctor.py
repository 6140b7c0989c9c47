"""The result of `flow doctor` for people: the facts and findings of each section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowrail.text.phrases import count
from flowrail.text.report import FilePath, Line, Part, Report, Span, Style, line, paragraphs, status, title
from flowrail.text.safe_text import shortened

_MOST_FINDINGS = 3


def report(
    sections: Mapping[str, Mapping[str, Any]],
    findings: Sequence[Mapping[str, Any]],
    errors: int,
    warnings: int,
) -> Report:
    """Return a diagnosis for people; findings of one kind are listed together."""
    parts: list[Report] = [
        [title(name), *_facts(section["facts"]), *_findings(name, findings)]
        for name, section in sections.items()
    ]
    if errors or warnings:
        style = Style.BAD if errors else Style.WARNING
        verdict = Span(f"{count(errors, 'error')}, {count(warnings, 'warning')}.", style)
    else:
        verdict = Span("nothing is wrong.", Style.GOOD)
    return paragraphs(*parts, [line(verdict)])


def _facts(facts: Sequence[str]) -> Iterator[str]:
    yield from (f"  {shortened(fact, 400)}" for fact in facts)


def _findings(name: str, findings: Sequence[Mapping[str, Any]]) -> Iterator[str | Line]:
    by_kind: dict[tuple[str, str], list[Mapping[str, object]]] = {}
    for finding in findings:
        if finding["section"] == name:
            by_kind.setdefault((finding["severity"], finding["code"]), []).append(finding)
    kinds = sorted(by_kind.items(), key=lambda kind: kind[0][0])  # errors first
    for (severity, code), same_kind in kinds:
        yield from _findings_of_kind(status(severity), code, same_kind)


def _findings_of_kind(
    severity: Span, code: str, findings: Sequence[Mapping[str, Any]]
) -> Iterator[str | Line]:
    """Yield findings of one kind, each with what to do; a remedy that is the same for all is shown once."""
    if len(findings) == 1:
        yield line("  ", severity, f" {code}: ", *_problem(findings[0]))
    else:
        yield line("  ", severity, f" {code} ({len(findings)} times)")
    is_same_remedy = len({finding["remedy"] for finding in findings}) == 1
    for finding in findings[:_MOST_FINDINGS]:
        if len(findings) > 1:
            yield line("    ", *_problem(finding))
        if not is_same_remedy:
            yield f"      = {shortened(finding['remedy'])}"
    if len(findings) > _MOST_FINDINGS:
        yield f"    and {len(findings) - _MOST_FINDINGS} more; --json has them all"
    if is_same_remedy:
        yield f"    = {shortened(findings[0]['remedy'])}"


def _problem(finding: Mapping[str, Any]) -> tuple[Part, ...]:
    location = (" (", FilePath(finding["place"]), ")") if finding["place"] else ()
    return (shortened(finding["message"]), *location)
