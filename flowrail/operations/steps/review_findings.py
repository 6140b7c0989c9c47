"""`flow finding`: findings on record, in the session where they count. None of them moves it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

from flowrail.errors import UsageError
from flowrail.machines import gate_verdict
from flowrail.machines.session import RecordedFinding, Session
from flowrail.machines.transition import current_step
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSession, SessionId
from flowrail.operations.steps.dispatched_work import check_still_working
from flowrail.operations.steps.held_session import HeldSession, hold
from flowrail.operations.steps.session_choice import own_session
from flowrail.text.report import Report, Span, Style, line
from flowrail.text.safe_text import one_line


@dataclass(frozen=True)
class ShownFinding(RecordedFinding):
    """A finding, and the session that keeps it."""

    session: str = ""
    """The session where the gate decides."""
    open: bool = True

    def report(self) -> Report:
        """Return what was recorded."""
        return [
            f"{self.id} {self.severity} recorded in {self.session}, where the gate decides"
            if self.open
            else f"{self.id} is resolved"
        ]


@dataclass(frozen=True)
class Findings:
    """The findings of a session."""

    session: str
    """The session where the gate decides."""
    findings: tuple[ShownFinding, ...]

    def report(self) -> Report:
        """Return a line for each finding."""
        for finding in self.findings:
            state = Span("open", Style.WARNING) if finding.open else Span("resolved", Style.GOOD)
            place = f" {one_line(finding.place)}" if finding.place else ""
            head = f"{finding.id} {finding.severity} (round {finding.round}) "
            yield line(head, state, f"{place}: {one_line(finding.text)}")
        if not self.findings:
            yield f"no findings in {self.session}"


@operation("finding add", "flow finding add planner-k3x9q2 --severity MUST --text 'no way back'")
def add_finding(
    environment: Environment,
    session: SessionId,
    *,
    severity: Annotated[str, Help("How severe it is.", metavar="MUST|SHOULD|COULD")],
    text: Annotated[str, Help("What is wrong.", metavar="T", file_option="--file")] = "",
    place: Annotated[str | None, Help("Where.", metavar="FILE:LINE")] = None,
) -> ShownFinding:
    """Record one finding"""
    if not text:
        raise UsageError("exactly one of --text and --file is needed", hint="give one of them")
    with _review_of(environment, session) as (held, finder):
        before, now = held.session, environment.now
        after, finding = gate_verdict.record(
            held.workflow, before, severity=severity, text=text, place=place, at=now, by=finder
        )
        if after != before:
            held.commit(after, "finding", at=now, finding=finding.id)
    return _shown(after.id, finding)


@operation("finding none", "flow finding none planner-k3x9q2")
def submit_without_findings(environment: Environment, session: SessionId) -> Findings:
    """Record that a review found nothing"""
    with _review_of(environment, session) as (held, finder):
        before, known = held.session, held.session.evidence
        after = before if known is None else before.with_evidence(replace(known, nothing_found=True))
        held.commit(after, "finding", finding="none", finder=finder)
    return Findings(after.id, ())


@operation("finding list", "flow finding list planner-k3x9q2")
def list_findings(environment: Environment, session: OptionalSession = None) -> Findings:
    """List the recorded findings

    Without ID, those of this conversation's open session.
    """
    home, _ = _home_of_findings(environment, session or own_session(environment).session.id)
    recorded = environment.store.read(home).session.findings
    return Findings(home, tuple(_shown(home, finding) for finding in recorded))


@operation("finding resolve", "flow finding resolve planner-k3x9q2 F1 --note 'tested in tests/rollback.py'")
def resolve_finding(
    environment: Environment,
    session: SessionId,
    finding: Annotated[str, Help("The finding.", metavar="FINDING")],
    *,
    note: Annotated[str, Help("How it was resolved, for the journal.", metavar="TEXT")] = "",
) -> ShownFinding:
    """Mark a finding as resolved

    During its review, only the reviewer who recorded a finding can resolve it. At its gate, no finding
    can be resolved.
    """
    with _review_of(environment, session) as (held, finder):
        before, now = held.session, environment.now
        after, resolved = gate_verdict.resolve(held.workflow, before, finding, note=note, at=now, by=finder)
        if after != before:
            held.commit(after, "resolve", at=now, finding=resolved.id)
    return _shown(after.id, resolved)


def _shown(session: str, finding: RecordedFinding) -> ShownFinding:
    return ShownFinding(**vars(finding), session=session, open=finding.is_open)


@contextmanager
def _review_of(environment: Environment, session_id: str) -> Iterator[tuple[HeldSession, str]]:
    """Lock the session in which findings of *session_id* count; yield it, and the finder.

    The finder is the agent's session, or the caller.
    """
    home_id, agents = _home_of_findings(environment, session_id)
    for agent in agents:
        check_still_working(environment.store, agent)
    with hold(environment, home_id, any_owner=True) as held:
        finder = agents[0] if agents else held.session
        current_step(held.workflow, held.session)
        yield held, environment.by if finder.id == home_id else finder.id


def _home_of_findings(environment: Environment, session_id: str) -> tuple[str, list[Session]]:
    """Return the nearest session, from this one upwards, whose workflow has a gate, and the agents' sessions up to it.

    Without a gate it is this one.
    """
    home_id, agents = session_id, list[Session]()
    while True:
        session = environment.store.read(home_id).session
        if session.parent:
            agents.append(session)
        if any(step.get("gate") for step in environment.store.definition(session).steps):
            return home_id, agents
        if not session.parent:
            return session_id, agents[:1]
        home_id = session.parent.session
