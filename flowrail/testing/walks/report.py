"""Results told: a table for people, plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flowrail.formatters.guidance.as_data import plain
from flowrail.formatters.guidance.as_text import table
from flowrail.testing.walks.play import Played
from flowrail.testing.walks.reproduce import repeat
from flowrail.testing.walks.run import (
    FAILED,
    PASSED,
    SKIPPED,
    Rehearsed,
)
from flowrail.text.safe_text import one_line, visible


def summary(results: Sequence[Rehearsed]) -> str:
    """Return a table of *results*, and below it the shortest failing walk of each that failed."""
    head = ["workflow", "walks", "commands", "ways taken", "seconds", "result"]
    parts = [table(head, [_row(each) for each in results])]
    parts += [part for result in results for part in _trouble(result)]
    counts = {word: sum(each.status == word for each in results) for word in (PASSED, FAILED, SKIPPED)}
    parts.append(", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing to test")
    return "\n\n".join(parts)


def data(results: Sequence[Rehearsed]) -> dict[str, Any]:
    """Return *results* as plain data."""
    return {
        "results": [_item(each) for each in results],
        "passed": sum(each.status == PASSED for each in results),
        "failed": sum(each.status == FAILED for each in results),
        "skipped": sum(each.status == SKIPPED for each in results),
    }


def paragraph(what: str, text: str) -> str:
    """Return *text* about *what*, the lines that it has below the first indented."""
    first, *more = text.splitlines() or [""]
    return "\n".join([f"{what}: {one_line(first)}", *(f"  {one_line(line)}" for line in more)])


def _row(result: Rehearsed) -> list[str]:
    covered = result.coverage
    ways = f"{covered.taken} of {len(covered.counts)}" if covered else "-"
    return [
        result.address,
        str(len(result.played)),
        str(result.moves),
        ways,
        f"{result.seconds:.1f}",
        result.status,
    ]


def _trouble(result: Rehearsed) -> Iterator[str]:
    if result.why:
        yield paragraph(result.address, result.why)
    for each in result.failures[:1]:
        more = len(result.failures) - 1
        others = f" ({more} more walk{'s' if more > 1 else ''} failed)" if more else ""
        lines = [f"{result.address}: the shortest walk that goes wrong is {each.walk.name}{others}"]
        lines.append(f"  {_where(each)}{one_line(each.problem)}")
        lines += [f"  {visible(line)}" for line in repeat(result.place, each).told]
        yield "\n".join(lines)
    if result.is_part:
        yield f"{result.address}: the workflow is too large for all of it to be walked"
    if result.gaps:
        yield f"{result.address}: no walk was found that {one_line(result.gaps)}"


def _where(played: Played) -> str:
    return f"at step {played.step}: " if played.step else ""


def _item(result: Rehearsed) -> dict[str, Any]:
    covered = result.coverage
    return {
        "workflow": result.address,
        "status": result.status,
        "why": result.why,
        "walks": len(result.played),
        "commands": result.moves,
        "seconds": round(result.seconds, 3),
        "ways": len(covered.counts) if covered else 0,
        "taken": covered.taken if covered else 0,
        "missing": [{"step": step, "outcome": outcome} for step, outcome in covered.missing]
        if covered
        else [],
        "never_entered": list(result.unentered),
        "part": result.is_part,
        "failures": [
            {
                "walk": each.walk.name,
                "step": each.step,
                "problem": each.problem,
                "params": plain(each.walk.params),
                "commands": repeat(result.place, each).commands,
            }
            for each in result.failures
        ],
    }
