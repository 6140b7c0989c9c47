"""What a migration would do, or did: as text for people, as data for programs."""

from __future__ import annotations

from typing import Any

from flowrail.formatters.guidance.as_data import plain
from flowrail.formatters.guidance.as_text import table
from flowrail.machines.definition.diff import IDENTICAL
from flowrail.machines.engine.migration import Plan
from flowrail.text.safe_text import one_line


def plan_text(plan: Plan) -> str:
    """Return a plan as text: where the session stands, and what became of each step."""
    where = f"stands at `{plan.at}`" if plan.at else "has ended"
    if plan.at and plan.to != plan.at:
        where += f", which is `{plan.to}` now" if plan.to else ", which is gone"
    lines = [f"{plan.session} · revision {plan.revision} · {where}: {plan.verdict}"]
    rows = [
        [each.step, each.change, each.to or "", "; ".join(each.what)]
        for each in plan.steps
        if each.change != IDENTICAL
    ]
    if rows:
        lines.append(table(["step", "is", "now", "what"], rows))
    same = len(plan.having(IDENTICAL))
    if same:
        lines.append(f"{same} step{'' if same == 1 else 's'} identical")
    if plan.moves:
        fresh = ", its work and questions begin anew" if plan.fresh else ""
        lines.append(f"its ways on become others: the revision counts on{fresh}")
    return "\n".join([*lines, *(f"parameters: {one_line(each)}" for each in plan.problems)])


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain data."""
    return {**plain(plan._asdict()), "steps": [plain(each._asdict()) for each in plan.steps]}


def done_text(plan: Plan, *, changed: bool) -> str:
    """Return what was done."""
    return f"{plan.session} is migrated" if changed else f"{plan.session} is up to date; nothing was recorded"
