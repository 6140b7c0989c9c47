"""A revision conflict: a command that was printed for an earlier revision of the session (`--expect`).

The report that led to the current revision may be repeated: it is answered again and changes nothing. Everything else is
refused, and the refusal names the last report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from flowrail.command import Hint
from flowrail.errors import ConflictError, FlowError
from flowrail.machines.reported_values import read_values
from flowrail.machines.session import Report, Session
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.outcome import DONE, Outcome


def check_expected(environment: Environment, session: Session, expect: int | None) -> None:
    """Refuse a command for another revision than that of *session*."""
    if expect is None or expect == session.revision:
        return
    last = session.last
    moved = f"; `{last.reported}` was reported for step `{last.step}` at {session.moved_at}" if last else ""
    raise ConflictError(
        f"session `{session.id}` is at revision {session.revision}, not {expect}{moved}",
        code="REVISION_CONFLICT",
        hint=Hint("see its state: ", environment.command("resume", session.id)),
        session=session.id,
        revision=session.revision,
        expected=expect,
        outcome=last.reported if last else None,
        step=session.step,
        at=session.moved_at,
    )


def is_repeated(workflow: Workflow, session: Session, reported: Report, expect: int) -> bool:
    """Return whether *reported*, for the revision *expect*, is the report that led to the current revision."""
    last = session.last
    if last is None or expect != session.revision - 1 or reported.outcome != last.reported:
        return False
    step = workflow.get(last.step)
    if step is None:
        return False
    from_commands = {name for name, arg in step.reports.items() if arg.source is not None}
    given = {name: value for name, value in last.facts.items() if name not in from_commands}
    try:
        return _plain(read_values(reported.facts, fact_args(step))) == _plain(given)
    except FlowError:
        return False


def has_raised_limit_question(step: StepDef, session: Session, reported: Report) -> bool:
    """Return whether the same report has raised the question of the step's limit, which is still open."""
    question = session.limit_question
    if question is None or not question.is_open:
        return False
    if reported.outcome != (DONE if step.decides else Outcome.FAIL):
        return False
    values = read_values(reported.facts, fact_args(step))
    return _plain(values) == _plain({name: session.state.get(name) for name in values})


def _plain(facts: Mapping[str, object]) -> str:
    """Return facts as text, in which `true` differs from 1, and a list from no other sequence."""
    return json.dumps(facts, sort_keys=True, default=dict)
