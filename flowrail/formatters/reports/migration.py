"""A planned or finished migration, as text for people and as data for programs."""

from __future__ import annotations

from flowrail.formatters.guidance.content import plain
from flowrail.machines.definition.diff import IDENTICAL
from flowrail.machines.engine.migration import MigrationPlan
from flowrail.text.report import Report, Table, columns
from flowrail.text.safe_text import one_line


def plan_report(plan: MigrationPlan) -> Report:
    """Return a plan for people: the session's step, and what changed in each step."""
    where = f"at `{plan.at}`" if plan.at else "ended"
    if plan.at and plan.to != plan.at:
        where += f", now `{plan.to}`" if plan.to else ", which no longer exists"
    lines: list[str | Table] = [f"{plan.session} · revision {plan.revision} · {where}: {plan.verdict}"]
    rows = [
        [step.step, step.change, step.to or "", "; ".join(step.what)]
        for step in plan.steps
        if step.change != IDENTICAL
    ]
    if rows:
        lines.append(Table(columns("step", "change", "new id", "details", wraps=("details",)), rows))
    same = len(plan.having(IDENTICAL))
    if same:
        lines.append(f"{same} step{'' if same == 1 else 's'} identical")
    if plan.moves:
        fresh = "; its dispatches and questions start again" if plan.fresh else ""
        lines.append(f"its transitions change: the revision is increased{fresh}")
    return [*lines, *(f"parameters: {one_line(problem)}" for problem in plan.problems)]


def plan_data(plan: MigrationPlan) -> dict[str, object]:
    """Return a plan as plain data."""
    return {**plain(plan._asdict()), "steps": [plain(step._asdict()) for step in plan.steps]}


def done_text(plan: MigrationPlan, *, changed: bool) -> str:
    """Return the result of a migration."""
    return f"{plan.session} migrated" if changed else f"{plan.session} is up to date"
