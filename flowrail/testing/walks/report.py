"""The results of walks as a table for people and as plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowrail.formatters.guidance.content import plain
from flowrail.testing.walks.play import PlayedWalk
from flowrail.testing.walks.run import FAILED, PASSED, SKIPPED, WorkflowResult
from flowrail.text.report import Part, Report, Span, Style, Table, columns, paragraphs
from flowrail.text.safe_text import one_line, visible

TITLES = ("workflow", "walks", "commands", "transitions taken", "seconds", "result")
STYLES = {PASSED: Style.GOOD, FAILED: Style.BAD, SKIPPED: Style.WARNING}


def summary(results: Sequence[WorkflowResult]) -> Report:
    """Return a table of *results*, and below it the shortest failing walk of each failed workflow."""
    if not results:
        return ["nothing to test"]
    head = columns(*TITLES, wraps=("workflow",), optional=("commands",))
    parts: list[Report] = [[Table(head, [_row(result) for result in results])]]
    parts += ([part] for result in results for part in _details(result))
    counts = {
        status: sum(result.status == status for result in results) for status in (PASSED, FAILED, SKIPPED)
    }
    totals = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return paragraphs(*parts, [totals])


def data(results: Sequence[WorkflowResult]) -> dict[str, object]:
    """Return *results* as plain data."""
    return {
        "results": [_item(result) for result in results],
        "passed": sum(result.status == PASSED for result in results),
        "failed": sum(result.status == FAILED for result in results),
        "not_approved": sum(result.status == SKIPPED for result in results),
    }


def paragraph(subject: str, text: str) -> str:
    """Return *text* after *subject*, with every line but the first indented."""
    first, *more = text.splitlines() or [""]
    return "\n".join([f"{subject}: {one_line(first)}", *(f"  {one_line(line)}" for line in more)])


def _row(result: WorkflowResult) -> list[Part]:
    coverage = result.coverage
    return [
        result.address,
        str(len(result.played)),
        str(result.command_count),
        f"{coverage.taken} of {len(coverage.counts)}" if coverage else "-",
        f"{result.seconds:.1f}",
        Span(result.status, STYLES[result.status]),
    ]


def _details(result: WorkflowResult) -> Iterator[str]:
    if result.reason:
        yield paragraph(result.address, result.reason)
    for failure in result.failures[:1]:
        more = len(result.failures) - 1
        suffix = f" ({more} more walk{'s' if more > 1 else ''} failed)" if more else ""
        lines = [f"{result.address}: the shortest failing walk is {failure.walk.name}{suffix}"]
        lines.append(f"  {_prefix(failure)}{one_line(failure.problem)}")
        lines += [f"  {visible(line)}" for line in result.name.reproduction(failure)]
        yield "\n".join(lines)
    if result.is_part:
        yield f"{result.address}: the workflow is too large to walk all of it"
    for name in result.guessed:
        yield f"{result.address}: `{name}` has no choices, bounds, default or example: declare one, so that it is tried"
    if result.gaps:
        yield f"{result.address}: no walk {one_line(result.gaps)}"


def _prefix(played: PlayedWalk) -> str:
    return f"at step {played.step}: " if played.step else ""


def _item(result: WorkflowResult) -> dict[str, object]:
    coverage = result.coverage
    missing = coverage.missing if coverage else ()
    return {
        "workflow": result.address,
        "status": result.status,
        "reason": result.reason,
        "walks": len(result.played),
        "commands": result.command_count,
        "seconds": round(result.seconds, 3),
        "transitions": len(coverage.counts) if coverage else 0,
        "taken": coverage.taken if coverage else 0,
        "missing": [{"step": step, "outcome": outcome} for step, outcome in missing],
        "never_entered": list(result.unentered),
        "part": result.is_part,
        "without_example": list(result.guessed),
        "failures": [
            {
                "walk": failure.walk.name,
                "step": failure.step,
                "problem": failure.problem,
                "params": plain(failure.walk.params),
                "commands": list(map(str, result.name.commands(failure))),
            }
            for failure in result.failures
        ],
    }
