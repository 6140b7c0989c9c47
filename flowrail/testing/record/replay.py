"""Run recorded sessions again in memory, against today's workflows.

The first report that is refused, or leads to a different step, ends the replay of a session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flowrail.errors import FlowError, TrustError, without_traceback
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import start
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.exploration.actions import perform
from flowrail.machines.sessions.store import SESSION_ID, UnknownSessionError
from flowrail.operations.environment import World
from flowrail.operations.running.load_workflow import open_skill
from flowrail.skills.catalog import find, workflow_file
from flowrail.testing.record.script import Script, Turn, script
from flowrail.testing.walks.report import paragraph
from flowrail.text.report import Part, Span, Style, Table, columns, paragraphs
from flowrail.text.report import Report as TextReport

SAME, DIFFERS, SKIPPED = "same", "differs", "skipped"


class Divergence(NamedTuple):
    """The first report that differs today: its number, the step that it leads to, or why it is refused."""

    number: int
    step: str | None
    report: str
    recorded: str | None
    today: str | None
    reason: str = ""
    revision: int = 0

    @property
    def text(self) -> str:
        """The divergence as a sentence."""
        if not self.number:
            return self.reason or f"it starts at {_name(self.today)}; it started at {_name(self.recorded)}"
        report = f"`{self.report}` of step `{self.step}` (report {self.number})"
        if self.reason:
            return f"{report}: {self.reason}"
        return f"{report} leads to {_name(self.today)}; it led to {_name(self.recorded)}"


class ReplayResult(NamedTuple):
    """The replay of one session; ``skipped`` is the reason if it was not replayed."""

    session: str
    skill: str = ""
    turns: int = 0
    divergence: Divergence | None = None
    skipped: str = ""

    @property
    def status(self) -> str:
        """`same`, `differs` or `skipped`."""
        return SKIPPED if self.skipped else DIFFERS if self.divergence else SAME


def replay_all(world: World, targets: Sequence[str], *, call: Call = call_plainly) -> Iterator[ReplayResult]:
    """Yield the result of each session of *targets*, which are ids or workflows; without any, of all sessions.

    A session that cannot be read is skipped, and refused if its id was given.
    """
    opened: dict[str, Workflow | FlowError] = {}
    for session_id, skill in _chosen(world, targets):
        is_named = session_id == skill
        try:
            recorded = script(world.store, session_id)
        except UnknownSessionError:
            if is_named:
                raise
            continue  # its start was interrupted
        except FlowError as error:
            if is_named:
                raise
            yield ReplayResult(session_id, skipped=_with_code(error))
            continue
        if is_named or skill in {None, recorded.skill}:
            yield _result(world, recorded, opened, call)


def replay(workflow: Workflow, script: Script, *, call: Call = call_plainly) -> Divergence | None:
    """Return the first report of *script* that differs in today's *workflow*; `None` without a difference."""
    try:
        session = start(workflow, script.params)
    except FlowError as error:
        return Divergence(0, None, "", script.entry, None, _with_code(error))
    if session.step != script.entry:
        return Divergence(0, None, "", script.entry, session.step)
    for number, turn in enumerate(script.turns, start=1):
        try:
            session = perform(workflow, session, turn.act, call=call)
        except FlowError as error:
            return _divergence(number, turn, None, _with_code(error))
        except Exception as error:  # noqa: BLE001 - an author's handler may raise anything
            return _divergence(number, turn, None, f"{type(error).__name__}: {error}")
        if (session.step, session.status) != (turn.to, turn.status):
            return _divergence(number, turn, session.step or session.status)
    return None


def report(results: Sequence[ReplayResult]) -> TextReport:
    """Return *results* as a table, and below it the divergences and the reasons for skipping."""
    if not results:
        return ["no session to replay"]
    styles = {SAME: Style.GOOD, DIFFERS: Style.BAD, SKIPPED: Style.WARNING}
    rows: list[list[Part]] = [
        [result.session, str(result.turns), Span(result.status, styles[result.status])] for result in results
    ]
    parts: list[TextReport] = [[Table(columns("session", "reports", "result"), rows)]]
    parts += ([paragraph(result.session, result.divergence.text)] for result in results if result.divergence)
    parts += ([paragraph(result.session, result.skipped)] for result in results if result.skipped)
    counts = {
        status: sum(result.status == status for result in results) for status in (SAME, DIFFERS, SKIPPED)
    }
    parts.append([", ".join(f"{count} {status}" for status, count in counts.items() if count)])
    return paragraphs(*parts)


def data(results: Sequence[ReplayResult]) -> dict[str, object]:
    """Return *results* as plain data."""
    return {
        "replays": [
            {
                "session": result.session,
                "skill": result.skill,
                "status": result.status,
                "reports": result.turns,
                "divergence": result.divergence._asdict() if result.divergence else None,
                "reason": result.divergence.text if result.divergence else result.skipped,
            }
            for result in results
        ]
    }


def _chosen(world: World, targets: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the ids of sessions, each with the target that it was found by."""
    if not targets:
        yield from ((session_id, None) for session_id in world.store.ids())
    for target in targets:
        if SESSION_ID.match(target) and os.path.isdir(world.store.folder(target)):
            yield target, target
            continue
        workflow_file(target, find(target, world.roots))  # neither a skill nor a session: refused
        stem = target.replace("/", "-") + "-"
        yield from ((session_id, target) for session_id in world.store.ids() if session_id.startswith(stem))


def _result(
    world: World, recorded: Script, opened: dict[str, Workflow | FlowError], call: Call
) -> ReplayResult:
    if recorded.skill not in opened:
        try:
            opened[recorded.skill] = open_skill(recorded.skill, world.roots, world.state).workflow
        except FlowError as error:
            opened[recorded.skill] = without_traceback(error)
    workflow = opened[recorded.skill]
    result = ReplayResult(recorded.session, recorded.skill, len(recorded.turns))
    if isinstance(workflow, TrustError):
        return result._replace(skipped=f"{workflow.message}; {workflow.hint}")
    if isinstance(workflow, FlowError):
        return result._replace(divergence=Divergence(0, None, "", recorded.entry, None, _with_code(workflow)))
    return result._replace(divergence=replay(workflow, recorded, call=call))


def _divergence(number: int, turn: Turn, today: str | None, reason: str = "") -> Divergence:
    return Divergence(
        number, turn.step, turn.act.report, turn.to or turn.status, today, reason, turn.revision
    )


def _name(step: str | None) -> str:
    return f"`{step}`" if step else "the end"


def _with_code(error: FlowError) -> str:
    return f"{error.message} [{error.code}]"
