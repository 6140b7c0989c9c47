"""Delete old sessions that have ended.

A session stays if it is open, if its parent is open, if it has an open handoff, if it belongs to another user, or if it
cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from flowrail.errors import UsageError
from flowrail.handoff.store import open_handoffs
from flowrail.machines.session_store import Store, UnknownSessionError
from flowrail.operations.board import FOREIGN, Board, ListedSession
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import DryRun
from flowrail.operations.steps.dispatched_work import lost_dispatch
from flowrail.storage import files
from flowrail.storage.lock import LockTimeoutError
from flowrail.text.phrases import days_of
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line

DAY = 86_400.0
UNBEGUN = "never begun"
LOST = "lost"
"""The status of a sub-agent's session that was replaced, or whose parent has left the step."""
_STARTING = 3_600.0
"""A session that is younger may still be starting."""


@dataclass(frozen=True)
class OldSession:
    """An old session."""

    session: str
    """Its id."""
    status: str
    days: float
    """The days since its last record."""
    why: str = ""
    """The reason why it stays, if it does."""


@dataclass(frozen=True)
class PruneResult:
    """The sessions that are old enough. Those without a reason to stay were deleted."""

    sessions: tuple[OldSession, ...]
    older_than: float
    """The age in days."""
    dry_run: bool
    """Whether nothing was deleted."""

    def report(self) -> Report:
        """Return what a person reads."""
        action = "would be deleted" if self.dry_run else "deleted"
        for old in self.sessions:
            why = f"kept: {old.why}" if old.why else action
            yield one_line(f"{old.session} ({old.status}, {old.days:.1f} days old): {why}")
        kept = sum(bool(old.why) for old in self.sessions)
        number = f"{len(self.sessions) - kept} {action}, {kept} kept" if self.sessions else "none"
        yield f"sessions that ended at least {self.older_than:g} days ago: {number}"


@operation("session prune", "flow session prune --older-than 30d --dry-run")
def prune(
    environment: Environment,
    *,
    older_than: Annotated[
        str, Help("Only sessions whose last record is older: days, or 30m, 12h, 7d, 2w.", metavar="AGE")
    ] = "30d",
    dry_run: DryRun = False,
) -> PruneResult:
    """Delete old sessions that have ended

    Keeps sessions that are open, that work for an open session, that have an open handoff, that another user started or
    that cannot be read. A sub-agent's session that was replaced counts as ended.
    """
    days = days_of(older_than)
    if days is None:
        raise UsageError(f"`{older_than[:40]}` is not an age", hint="write days, or 30m, 12h, 7d, 2w")
    return prune_sessions(environment, older_than=days, dry_run=dry_run)


def prune_sessions(environment: Environment, *, older_than: float, dry_run: bool = False) -> PruneResult:
    """Delete sessions that ended more than *older_than* days ago; with *dry_run*, only return them."""
    now = environment.moment.timestamp()
    if not dry_run:
        _sweep(environment.store, environment.state, now)
    found: list[OldSession] = []
    for old in _old_sessions(
        environment.store, environment.now, older_than, open_handoffs(handoffs_of(environment))
    ):
        why = old.why
        if not why and not dry_run:
            try:
                why = _remove(environment, old)
            except LockTimeoutError as error:  # wait once, not for each session
                why, environment = error.message, environment.replaced(wait=0.0)
        found.append(replace(old, why=why))
    return PruneResult(tuple(found), older_than, dry_run)


def _old_sessions(
    store: Store, at: str, older_than: float, needs: Callable[[str], str]
) -> Iterator[OldSession]:
    """Yield the sessions that can be deleted, and those that stay, with the reason, which may come from *needs*."""
    board, now = Board(store), _seconds(at)
    for session_id in store.ids():
        row, why = board.row(session_id, at), ""
        if row is None:  # its start was interrupted, unless it is still starting
            status, days = UNBEGUN, _age(store.folder(session_id), now) / DAY
            if days <= _STARTING / DAY:
                continue
        elif row.code:
            why = "you did not start it" if row.status == FOREIGN else f"it cannot be read: {row.reason}"
            yield OldSession(session_id, row.status, 0.0, why)
            continue
        else:
            status, days = LOST if row.lost else row.status, (now - _seconds(row.active_at)) / DAY
            if row.is_open and not row.lost:
                continue
            parent = board.row(row.parent, at) if row.parent else None
            why = needs(session_id) or _parent_needs(parent)
        if days >= older_than:
            yield OldSession(session_id, status, days, why)


def _parent_needs(parent: ListedSession | None) -> str:
    """Return why the parent of an old session still needs it, or an empty text."""
    if parent is None:
        return ""
    if parent.code:
        return f"its parent session `{parent.session}` cannot be read: {parent.reason}"
    return f"its parent session `{parent.session}` is open" if parent.is_open else ""


def _remove(environment: Environment, old: OldSession) -> str:
    """Delete one session under its lock; return why it stayed, if it changed meanwhile."""
    store = environment.store
    if old.status == UNBEGUN:
        store.delete(old.session)
        return ""
    try:
        with store.change(old.session, wait=environment.wait) as change:
            session = change.kept.session
            if session.is_open and not (old.status == LOST and lost_dispatch(store, session)):
                return "it was opened again"
            handoffs_of(environment).record_pruned(old.session)
            store.delete(old.session)
    except UnknownSessionError as error:
        return error.message
    return ""


def _sweep(store: Store, state: str, now: float) -> None:
    """Delete the leftovers of an interrupted run, and temporary files of killed writers."""
    files.sweep(store.path, now=now)
    for root in (store.sessions, os.path.join(store.path, "handoffs"), state):
        if not os.path.islink(root):
            for folder, _, _ in os.walk(root):
                files.sweep(folder, now=now)
    store.delete_leftovers()


def _age(path: str, now: float) -> float:
    try:
        return now - os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()
