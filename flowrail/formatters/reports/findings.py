"""What `flow check` found, with the lines of the source."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator

from flowrail.command import Command
from flowrail.errors import DocumentError
from flowrail.machines.checks.proof import Proof, ProofVerdict
from flowrail.machines.findings import Finding
from flowrail.storage.files import read_bounded
from flowrail.text import size_limits
from flowrail.text.phrases import count
from flowrail.text.report import Line, Report, Span, Style, line, status
from flowrail.text.safe_text import decode, one_line, visible

_WIDTH = 110
"""Characters of a source line that are shown."""


def report(
    found: Iterable[tuple[str, Finding]],
    *,
    proofs: Iterable[tuple[str, Proof]] = (),
    workflows: int,
    others: int,
) -> Report:
    """Return each finding in a skill's folder with the line of its source, the *proofs* of order rules, and a summary.

    *workflows* were checked, and *others* are skills without a workflow.
    """
    listed = list(found)
    for folder, finding in listed:
        yield from _with_source(os.path.join(folder, finding.place.file), finding)
    for workflow, proof in proofs:
        good = Style.GOOD if proof.verdict is ProofVerdict.PROVED else Style.WARNING
        style = Style.BAD if proof.verdict is ProofVerdict.BROKEN else good
        yield Line((f"{workflow}: {one_line(proof.rule)}: ", Span(proof.verdict, style)), wraps=False)
        if proof.verdict is ProofVerdict.WATCHED:
            yield f"    for example {one_line(' -> '.join(proof.path))}"
    parts = [count(workflows, "workflow")] if workflows or not others else []
    parts += [f"{count(others, 'skill')} without a workflow"] if others else []
    checked = f"{' and '.join(parts)} checked"
    severities = Counter(finding.severity for _, finding in listed)
    if not severities:
        yield line(f"{checked}, ", Span("nothing found", Style.GOOD))
        return
    counts = ", ".join(count(severities[kind], kind) for kind in ("error", "warning") if severities[kind])
    yield line(f"{checked}: ", Span(counts, Style.BAD if severities["error"] else Style.WARNING))
    code = listed[0][1].code
    yield line(Span(f"{Command('explain', code)} says more about {code}", Style.MUTED))


def _with_source(path: str, finding: Finding) -> Iterator[str | Line]:
    place = finding.place
    position = "".join(f":{number}" for number in (place.line, place.column) if number)
    part = f" ({one_line(place.part)})" if place.part else ""
    where = f"{one_line(_from_here(path))}{position}{part}: "
    code = Span(finding.code, Style.TITLE)
    head = (where, status(finding.severity), " ", code, f": {one_line(finding.message)}")
    yield Line(head, wraps=False)
    source = _source_line(path, place.line)
    if source.strip():
        yield Line((Span(f"{place.line} | ", Style.ACTIVE), visible(source)[:_WIDTH]), wraps=False)
    yield f"    {one_line(finding.remedy)}"


def _from_here(path: str) -> str:
    """Return a path from the current folder, if it is in it."""
    inside = os.path.relpath(path)
    return path if inside.startswith("..") else inside


def _source_line(path: str, number: int) -> str:
    """Return one line of a file, or nothing if the file cannot be read."""
    try:
        lines = decode(read_bounded(path, limit=size_limits.TEXT_BYTES, what="the file"), source=path).split(
            "\n"
        )
    except DocumentError:
        return ""
    return lines[number - 1] if 0 < number <= len(lines) else ""
