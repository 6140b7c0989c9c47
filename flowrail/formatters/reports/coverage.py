"""Coverage of a workflow for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration.coverage import Coverage, SessionCoverage, target
from flowrail.text.phrases import count, duration
from flowrail.text.report import Report, Span, Style, Table, columns, paragraphs, title
from flowrail.text.safe_text import one_line


def report(workflow: Workflow, covered: Coverage, life: SessionCoverage | None = None) -> Report:
    """Return coverage for people: a summary, each transition with its count, and those never taken."""
    rows = [
        [
            step,
            outcome,
            target(workflow, (step, outcome)) or "(end)",
            str(taken) if taken else Span("never", Style.WARNING),
        ]
        for (step, outcome), taken in covered.counts.items()
    ]
    table = Table(columns("step", "outcome", "to", "taken", wraps=("step", "to")), rows)
    parts: list[Report] = [[title(_summary(covered, life))], [table]]
    if covered.missing:
        missing = ", ".join(f"{step} {outcome}" for step, outcome in covered.missing)
        parts.append([f"never taken: {one_line(missing)}"])
    if life is not None:
        parts += ([text] for text in _life(life))
    return paragraphs(*parts)


def _summary(covered: Coverage, life: SessionCoverage | None) -> str:
    taken = f"{covered.taken} of {len(covered.counts)} transitions taken"
    if life is None:
        return f"{covered.workflow}: {taken} by the walks of `flow test`"
    statuses = ", ".join(f"{number} {status}" for status, number in sorted(life.statuses.items()))
    in_brackets = f" ({statuses})" if statuses else ""
    return f"{covered.workflow}: {taken} by {count(life.sessions, 'session')}{in_brackets}"


def _life(life: SessionCoverage) -> Iterator[str]:
    if life.stops:
        yield f"sessions stop at: {_counts(life.stops)}"
    if life.stopped:
        yield f"ended by the user at a limit: {_counts(life.stopped)}"
    if life.unfailed:
        yield f"passed and never failed: {', '.join(life.unfailed)}"
    if life.unrefused:
        yield f"checks that never refused a report: {', '.join(life.unrefused)}"
    if life.dwell:
        times = ", ".join(f"{step} {duration(seconds)}" for step, seconds in life.dwell.items())
        yield f"median time in a step: {times}"
    if life.elsewhere:
        yield f"{count(life.elsewhere, 'move')} by transitions that the workflow no longer has"
    if life.unread:
        yield f"{count(life.unread, 'session')} could not be read: flow session verify"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{step} {number}" for step, number in counts.items())
