"""Coverage of a workflow for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowrail.formatters.guidance.content import plain
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration.coverage import Coverage, SessionCoverage, target
from flowrail.text.phrases import count, duration
from flowrail.text.report import Report, Span, Style, Table, columns, paragraphs, title
from flowrail.text.safe_text import one_line


def report(workflow: Workflow, coverage: Coverage, sessions: SessionCoverage | None = None) -> Report:
    """Return coverage for people: a summary, each transition with its count, and those never taken."""
    rows = [
        [
            step,
            outcome,
            target(workflow, (step, outcome)) or "(end)",
            str(taken) if taken else Span("never", Style.WARNING),
        ]
        for (step, outcome), taken in coverage.counts.items()
    ]
    table = Table(columns("step", "outcome", "to", "taken", wraps=("step", "to")), rows)
    parts: list[Report] = [[title(_summary(coverage, sessions))], [table]]
    if coverage.missing:
        missing = ", ".join(f"{step} {outcome}" for step, outcome in coverage.missing)
        parts.append([f"never taken: {one_line(missing)}"])
    if sessions is not None:
        parts += ([text] for text in _session_lines(sessions))
    return paragraphs(*parts)


def data(
    workflow: Workflow, coverage: Coverage, sessions: SessionCoverage | None = None, *, is_part: bool = False
) -> dict[str, object]:
    """Return coverage as plain data, with the statistics of *sessions* if any.

    *is_part* says that the workflow is too large for all of it to be walked.
    """
    statistics = {"part": is_part} if sessions is None else plain(sessions)
    return {
        "skill": coverage.workflow,
        "of": "walks" if sessions is None else "sessions",
        "transitions": [
            {"step": step, "outcome": outcome, "to": target(workflow, (step, outcome)), "count": count}
            for (step, outcome), count in coverage.counts.items()
        ],
        "taken": coverage.taken,
        "total": len(coverage.counts),
        "missing": [{"step": step, "outcome": outcome} for step, outcome in coverage.missing],
        **{name: value for name, value in statistics.items() if name != "coverage"},
    }


def _summary(coverage: Coverage, sessions: SessionCoverage | None) -> str:
    taken_text = f"{coverage.taken} of {len(coverage.counts)} transitions taken"
    if sessions is None:
        return f"{coverage.workflow}: {taken_text} by the walks of `flow test`"
    statuses = ", ".join(f"{number} {status}" for status, number in sorted(sessions.statuses.items()))
    statuses_text = f" ({statuses})" if statuses else ""
    return f"{coverage.workflow}: {taken_text} by {count(sessions.sessions, 'session')}{statuses_text}"


def _session_lines(sessions: SessionCoverage) -> Iterator[str]:
    if sessions.stops:
        yield f"sessions stop at: {_counts(sessions.stops)}"
    if sessions.stopped_at_limit:
        yield f"ended by the user at a limit: {_counts(sessions.stopped_at_limit)}"
    if sessions.never_failed:
        yield f"passed and never failed: {', '.join(sessions.never_failed)}"
    if sessions.never_refused:
        yield f"checks that never refused a report: {', '.join(sessions.never_refused)}"
    if sessions.dwell:
        times = ", ".join(f"{step} {duration(seconds)}" for step, seconds in sessions.dwell.items())
        yield f"median time in a step: {times}"
    if sessions.elsewhere:
        yield f"{count(sessions.elsewhere, 'move')} by transitions that the workflow no longer has"
    if sessions.unread:
        yield f"{count(sessions.unread, 'session')} could not be read: flow session verify"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{step} {number}" for step, number in counts.items())
