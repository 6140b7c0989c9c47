"""What `flow check` found: with the source for a terminal, and as annotations for GitHub."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from flowrail.command import Command
from flowrail.errors import DocumentError
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import count
from flowrail.text.report import Line, Report, Span, Style, line, status
from flowrail.text.safe_text import decode, one_line, visible

if TYPE_CHECKING:
    from flowrail.machines.definition.findings import Finding
    from flowrail.operations.skills.check import CheckReport

_WORD = re.compile(r"([\"']).*?\1|[\w$-]+")
_AFTER_MARK = 20


def _source_line(path: str, number: int) -> str:
    """Return one line of a file, or nothing if the file cannot be read."""
    try:
        lines = decode(read_bounded(path, limit=limits.TEXT_BYTES, what="the file"), source=path).split("\n")
    except DocumentError:
        return ""
    return lines[number - 1] if 0 < number <= len(lines) else ""


def plain_report(reports: Sequence[CheckReport], *, cwd: str) -> Report:
    """Return two lines for each finding: place, severity, code and message; then what to do."""
    for report in reports:
        for finding in report.findings:
            place = replace(finding.place, file=_relative(report, finding, cwd))
            where = f"{place}: {finding.severity} {finding.code}"
            yield f"{one_line(where)}: {one_line(finding.message)}"
            yield f"    {one_line(finding.remedy)}"
    yield _summary(reports, Counter(finding.severity for report in reports for finding in report.findings))


def terminal_report(reports: Sequence[CheckReport], *, cwd: str, width: int) -> Report:
    """Return each finding with the line of its source, and a summary."""
    codes: list[str] = []
    severities: Counter[str] = Counter()
    for report in reports:
        for finding in report.findings:
            codes.append(finding.code)
            severities[finding.severity] += 1
            yield from _with_source(report, finding, cwd=cwd, width=width)
            yield ""
    yield _summary(reports, severities)
    if codes:
        yield line(Span(f"{Command('explain', codes[0])} says more about {codes[0]}", Style.MUTED))


def github_lines(reports: Sequence[CheckReport], *, cwd: str) -> Iterator[str]:
    """Yield each finding as a workflow command of GitHub Actions, which becomes an annotation of the file."""
    for report in reports:
        for finding in report.findings:
            location = finding.place
            values: dict[str, object] = {"file": _relative(report, finding, cwd)}
            values |= {"line": location.line} if location.line else {}
            values |= {"col": location.column} if location.column else {}
            values["title"] = f"{finding.code} in {report.address}"
            properties = ",".join(f"{name}={_property(str(value))}" for name, value in values.items())
            yield f"::{_level(finding)} {properties}::{_escaped(f'{finding.message}; {finding.remedy}')}"


def _with_source(report: CheckReport, finding: Finding, *, cwd: str, width: int) -> Iterator[str | Line]:
    location = finding.place
    head = (status(finding.severity), " ", Span(finding.code, Style.TITLE), f": {one_line(finding.message)}")
    yield line(*head)
    position = (
        f"{f':{location.line}' if location.line else ''}{f':{location.column}' if location.column else ''}"
    )
    part = f" ({location.part})" if location.part else ""
    yield line(Span("  --> ", Style.ACTIVE), one_line(f"{_relative(report, finding, cwd)}{position}{part}"))
    source = visible(_source_line(_path(report, finding), location.line)).replace("\t", " ")
    if source.strip():
        number = str(location.line)
        gap = " " * len(number)
        shown, start, length = _window(source, location.column, max(20, width - len(number) - 3))
        yield Line((Span(f"{number} | ", Style.ACTIVE), shown), wraps=False)
        mark = Span("^" * length, status(finding.severity).style)
        yield Line((Span(f"{gap} | ", Style.ACTIVE), " " * start, mark), wraps=False)
    yield line(Span("  = ", Style.ACTIVE), one_line(finding.remedy))


def _window(source: str, column: int, width: int) -> tuple[str, int, int]:
    """Return as much of a line as fits, and start and length of what is marked in it."""
    start = column - 1 if column else len(source) - len(source.lstrip())
    word = _WORD.match(source, start) if column else None
    length = len(word[0]) if word else (1 if column else len(source.strip()))
    if len(source) <= width:
        return source, start, length
    cut = max(0, start + min(length, _AFTER_MARK) + _AFTER_MARK - width)
    text = f"…{source[cut + 1 :]}" if cut else source
    text = text if len(text) <= width else f"{text[: width - 1]}…"
    return text, start - cut, min(length, width - (start - cut))


def _summary(reports: Sequence[CheckReport], severities: Mapping[str, int]) -> Line:
    """Return what was checked and the numbers of findings, such as `1 workflow checked: 1 error, 2 warnings`."""
    workflows = sum(report.is_workflow and not report.needs_approval for report in reports)
    others = sum(not report.is_workflow for report in reports)
    parts = [count(workflows, "workflow")] if workflows or not others else []
    if others:
        parts.append(f"{count(others, 'skill')} without a workflow")
    checked = f"{' and '.join(parts)} checked"
    if not severities:
        return line(f"{checked}, ", Span("nothing found", Style.GOOD))
    counts = ", ".join(count(severities[kind], kind) for kind in ("error", "warning") if severities.get(kind))
    return line(f"{checked}: ", Span(counts, Style.BAD if severities["error"] else Style.WARNING))


def _path(report: CheckReport, finding: Finding) -> str:
    return os.path.join(report.path, finding.place.file)


def _relative(report: CheckReport, finding: Finding, cwd: str) -> str:
    path = _path(report, finding)
    inside = os.path.relpath(path, cwd)
    return path if inside.startswith("..") else inside


def _level(finding: Finding) -> str:
    return "error" if finding.severity == "error" else "warning"


def _escaped(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
