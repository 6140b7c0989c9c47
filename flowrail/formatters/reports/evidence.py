"""Evidence of a step as text and as plain data."""

from __future__ import annotations

from flowrail.formatters.guidance.content import plain
from flowrail.machines.definition.evidence import CommandRun, EvidenceResult, Verdict
from flowrail.machines.guidance.evidence import StepEvidenceView, line_of
from flowrail.text.phrases import count, duration
from flowrail.text.report import Part, Report, Span, Style, Table, columns
from flowrail.text.safe_text import one_line, visible


def show_report(view: StepEvidenceView) -> Report:
    """Return the evidence of a step, a line for each check."""
    if not view.results:
        return [f"step {view.step} demands no evidence"]
    rows: list[list[Part]] = [
        [result.check, ", ".join(_outcomes_of(result, view)), _state(result), result.expected, result.found]
        for result in view.results
    ]
    head = columns("check", "for", "result", "expected", "found", wraps=("expected", "found"))
    lines: list[str | Table] = [Table(head, rows)]
    lines += [
        f"{result.check}: {one_line(result.remedy)}"
        for result in view.results
        if result.remedy and not result.is_satisfied
    ]
    if view.refusals:
        lines.append(
            f"{count(view.refusals, 'report')} lacked evidence; after {view.tries} a person is asked"
        )
    return lines


def show_data(view: StepEvidenceView) -> dict[str, object]:
    """Return the same as plain data."""
    return {
        "session": view.session,
        "step": view.step,
        "refusals": view.refusals,
        "tries": view.tries,
        "evidence": [
            {**result_data(result), "outcomes": _outcomes_of(result, view)} for result in view.results
        ],
    }


def result_data(result: EvidenceResult) -> dict[str, object]:
    """Return one result."""
    values: dict[str, object] = plain(result)
    return {**values, "passed": result.passed, "run": line_of(result.command) if result.command else None}


def run_text(run: CommandRun) -> str:
    """Return the result of running the command of a check, with its output."""
    duration_text = f" after {duration(run.seconds)}" if run.seconds is not None else ""
    problem = f": {run.problem}" if run.problem else ""
    first = one_line(f"{run.check} {run.verdict}{duration_text}{problem}")
    return visible("\n".join([first, *(["", run.output.rstrip()] if run.output else [])]))


def run_data(session: str, run: CommandRun) -> dict[str, object]:
    """Return the same as plain data."""
    values: dict[str, object] = plain(run)
    return {"session": session, **values, "run": line_of(run.command)}


def _outcomes_of(result: EvidenceResult, view: StepEvidenceView) -> list[str]:
    return [outcome for outcome, checks in view.outcomes.items() if result.check in checks]


def _state(result: EvidenceResult) -> Span:
    if result.waived:
        return Span(f"waived by {result.by}", Style.WARNING)
    if result.passed:
        return Span(f"{result.verdict} ({result.level})", Style.GOOD)
    verdict = f"only {result.level}" if result.verdict == Verdict.PASS else str(result.verdict)
    return Span(verdict, Style.BAD)
