"""Coverage told: as text, and as a picture with a count on every way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.formatters.guidance.as_text import table
from flowrail.machines.definition.workflow import Workflow
from flowrail.operations.skills.coverage import Coverage, Life, target
from flowrail.text.safe_text import one_line

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def text(workflow: Workflow, covered: Coverage, life: Life | None = None) -> str:
    """Return coverage as text: how much, each way with its count, and what was never taken."""
    rows = [
        [step, outcome, target(workflow, (step, outcome)) or "(end)", str(count or "never")]
        for (step, outcome), count in covered.counts.items()
    ]
    parts = [_summary(covered, life), table(["step", "outcome", "to", "taken"], rows)]
    if covered.missing:
        ways = ", ".join(f"{step} {outcome}" for step, outcome in covered.missing)
        parts.append(f"never taken: {one_line(ways)}")
    if life is not None:
        parts += _life(life)
    return "\n\n".join(parts)


def drawn(workflow: Workflow, covered: Coverage, life: Life | None = None) -> Picture:
    """Return the picture of *workflow* with how often each way was taken, and how many sessions stop where."""
    plain = picture(workflow)
    stops = life.stops if life is not None else {}
    nodes = tuple(
        node._replace(title=f"{node.title} ({stops[node.id]} stop here)") if stops.get(node.id) else node
        for node in plain.nodes
    )
    arrows = tuple(
        arrow._replace(taken=sum(covered.counts.get((arrow.source, each), 0) for each in arrow.every))
        if arrow.every
        else arrow
        for arrow in plain.arrows
    )
    return plain._replace(nodes=nodes, arrows=arrows)


def _summary(covered: Coverage, life: Life | None) -> str:
    ways = f"{covered.taken} of {len(covered.counts)} ways taken"
    if life is None:
        return f"{covered.workflow}: {ways} by the walks of `flow test`"
    how = ", ".join(f"{count} {status}" for status, count in sorted(life.statuses.items()))
    sessions = f"{life.sessions} session{'s' if life.sessions != 1 else ''}"
    return f"{covered.workflow}: {ways} by {sessions}{f' ({how})' if how else ''}"


def _life(life: Life) -> Iterator[str]:
    if life.stops:
        yield f"sessions stop at: {_counts(life.stops)}"
    if life.stopped:
        yield f"ended by the user at a limit: {_counts(life.stopped)}"
    if life.unfailed:
        yield f"passed and never failed: {', '.join(life.unfailed)}"
    if life.dwell:
        yield f"median time in a step: {', '.join(f'{step} {span(each)}' for step, each in life.dwell.items())}"
    if life.elsewhere:
        yield f"{life.elsewhere} moves went ways that the workflow has no longer"
    if life.unread:
        yield f"{life.unread} sessions could not be read: flow verify"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{step} {count}" for step, count in counts.items())


def span(seconds: float) -> str:
    """Return a time as a person says it: the unit that leaves few digits."""
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
