"""`flow audit`: what happened in handoffs and sessions, and whether their records are as they were written."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from flowrail.errors import StorageError, UsageError
from flowrail.formatters.reports import audit as page
from flowrail.formatters.reports.audit import AuditedHandoff, AuditedSession
from flowrail.handoff.audit import JournalFinding
from flowrail.handoff.audit import audit as audit_journals
from flowrail.handoff.store import Handoffs
from flowrail.machines.session_store import ForeignSessionError, Store, UnknownSessionError
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.send import answer_of, now_of
from flowrail.operations.handoffs.verify import verify_handoffs
from flowrail.operations.operation import Help, operation
from flowrail.storage.file_store import JOURNAL
from flowrail.text.phrases import count, days_of, moment
from flowrail.text.report import Report, Span, Style, line, paragraphs
from flowrail.text.safe_text import shortened

LEAST_HEAD, MOST_HEAD = 8, 64


@dataclass(frozen=True)
class Audit:
    """Handoffs and sessions with all their records, in the order in which they started."""

    handoffs: tuple[AuditedHandoff, ...]
    sessions: tuple[AuditedSession, ...]
    unreadable: tuple[JournalFinding, ...]
    """Journals that cannot be read."""
    foreign: tuple[str, ...]
    """The ids of journals that another user or machine wrote."""

    @property
    def exit_status(self) -> int:
        """1 if a journal cannot be read."""
        return 1 if self.unreadable else 0

    def report(self) -> Report:
        """Return what a person reads."""
        parts = [
            *(handoff.report() for handoff in self.handoffs),
            *(session.report() for session in self.sessions),
            *([page.problem_line(found.id, f"cannot be read: {found.message}")] for found in self.unreadable),
            *([page.problem_line(id_, "is foreign: you did not record it here")] for id_ in self.foreign),
        ]
        return paragraphs(*parts) if parts else ["no handoffs and no sessions"]


@dataclass(frozen=True)
class Verification:
    """What was verified, and every finding."""

    handoffs: int
    sessions: int
    records: int
    payloads: int
    findings: tuple[JournalFinding, ...]

    @property
    def exit_status(self) -> int:
        """1 if there is a finding."""
        return 1 if self.findings else 0

    def report(self) -> Report:
        """Return what a person reads."""
        for finding in self.findings:
            bad = Span(f"{finding.id}: {finding.code}", Style.BAD)
            yield line(bad, f": {shortened(finding.message, 400)}")
        kinds = {
            "handoff": self.handoffs,
            "session": self.sessions,
            "record": self.records,
            "payload": self.payloads,
        }
        verified = ", ".join(count(number, kind) for kind, number in kinds.items())
        good = Span("unchanged since they were written", Style.GOOD)
        bad = Span(count(len(self.findings), "finding"), Style.BAD)
        yield line(f"{verified}: ", bad if self.findings else good)


@operation("audit", "flow audit", "flow audit --handoffs --since 7d", "flow audit --verify")
def audit(
    environment: Environment,
    id_: Annotated[str | None, Help("The id of a handoff or a session.", metavar="ID")] = None,
    *,
    verify: Annotated[bool, Help("Check that no record was changed.")] = False,
    handoffs: Annotated[bool, Help("Handoffs only.")] = False,
    since: Annotated[
        str | None, Help("Only what changed since a date, or within 30m, 12h, 7d.", metavar="WHEN")
    ] = None,
    head: Annotated[
        str | None,
        Help("With ID and --verify: a head seen earlier, which must be in the journal.", metavar="HEX"),
    ] = None,
) -> Audit | Verification:
    """Show what happened in handoffs and sessions, or verify it

    Shows the timelines of one id or of all: phases, checks, hashes, actors, failures. With --verify, checks that no journal
    was changed, that handoffs went through their phases in order, and that each payload is the one that was sent. Exits 1
    on any finding.
    """
    store = environment.store
    if head is not None and not (verify and id_):
        raise UsageError("--head belongs to the verification of one session", hint="add --verify and the ID")
    if not verify:
        earliest = None if since is None else _since(environment, since)
        found = audit_journals(store, Handoffs(store), wanted=id_, with_sessions=not handoffs, since=earliest)
        return Audit(
            tuple(
                AuditedHandoff.of(answer_of(environment, timeline.handoff), timeline)
                for timeline in found.handoffs
            ),
            tuple(AuditedSession.of(records) for records in found.sessions),
            found.unreadable,
            found.foreign,
        )
    if handoffs or since is not None:
        raise UsageError("--verify always verifies everything", hint="remove --handoffs and --since")
    about = verify_handoffs(store, id_)
    if id_ is not None and not about.handoffs:
        with suppress(StorageError, ForeignSessionError):  # verifying the session reports the problem
            store.read(id_)  # refuses an unknown session
    known = {(finding.id, finding.code) for finding in about.findings}
    findings = [*about.findings]
    for session_id in store.ids() if id_ is None else [id_] if not about.handoffs else []:
        with suppress(UnknownSessionError):  # its start was interrupted
            verified = verify_session(store, session_id, head=head)
            findings += [finding for finding in verified if (finding.id, finding.code) not in known]
    return Verification(about.handoffs, about.sessions, about.records, about.payloads, tuple(findings))


def verify_session(store: Store, session_id: str, *, head: str | None = None) -> list[JournalFinding]:
    """Read a session's journal to its end. *head* is a hash that was seen earlier, or its beginning."""
    if head is not None and not (
        LEAST_HEAD <= len(head) <= MOST_HEAD and set(head) <= set("0123456789abcdef")
    ):
        raise UsageError(
            f"`{head}` is not the head of a session",
            code="BAD_HEAD",
            hint="give the `head` of an answer: 8 or more of its digits",
            head=head[:80],
        )
    journal = os.path.join(store.folder(session_id), JOURNAL)
    hashes: list[str] = []
    findings: list[JournalFinding] = []
    try:
        with suppress(StorageError):  # reading all records reports the problem with its location
            store.read(session_id)
        hashes.extend(record.hash for record in store.records(session_id))
    except ForeignSessionError as error:
        message = f"{journal}:1: {error.message}; {error.hint}"
        return [JournalFinding(session_id, error.code, message)]
    except StorageError as error:
        findings.append(JournalFinding(session_id, error.code, error.message))
    if head is not None and not any(digest.startswith(head) for digest in hashes):
        message = f"{journal}: no record has the head {head}: what was seen earlier is not in this journal"
        findings.append(JournalFinding(session_id, "HEAD_GONE", message))
    return findings


def _since(environment: Environment, text: str) -> datetime:
    days = days_of(text.strip())
    try:
        since = moment(text) or (days is not None and now_of(environment) - timedelta(days=days))
    except (OverflowError, ValueError):  # before the first date, or too many digits
        since = None
    if not since:
        raise UsageError(f"`{text[:40]}` is not a time", hint="write 2026-02-04, 2026-02-04T19:30:00Z or 12h")
    return since
