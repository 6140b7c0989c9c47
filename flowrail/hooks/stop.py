"""The end of a turn, at which an agent is kept working on its session, and of a conversation, which releases its sessions."""

from __future__ import annotations

from collections.abc import Iterable

from flowrail.errors import FlowError
from flowrail.formatters.guidance.briefing import agents_progress
from flowrail.hooks.call import Call
from flowrail.hooks.stored import HookSession
from flowrail.hosts.conversation import FLEET, HELD
from flowrail.machines.agents import Children
from flowrail.machines.guidance.agent_work import PENDING
from flowrail.machines.session import ACTIVE, WAITING, Session
from flowrail.operations.steps.dispatched_work import check_still_working, children_of
from flowrail.operations.steps.session_ownership import release
from flowrail.storage.files import sha256_hex
from flowrail.storage.lock import LockTimeoutError

MOST_HOLDS = 3
"""An agent is kept from ending its turn at most this often while its session and its sub-agents make no progress."""
_WAIT = 2.0
_BY = "hook"


def reason_to_continue(sessions: Iterable[HookSession], call: Call) -> str | None:
    """Return why an agent must continue with the first session that needs it, and count that there."""
    for each in sessions:
        try:
            with each.store.change(each.session.id, wait=_WAIT) as change:
                session = change.kept.session
                children = children_of(each.store, session.dispatches)
                progress = _progress(session, children)
                times = session.times_held(progress)
                if times >= MOST_HOLDS or change.is_full or not _has_work(each, session, children, call):
                    continue
                bound = session if session.host else session.bound_to(call.conversation)
                note = {"times": times + 1}
                change.commit(bound.held_again(progress), kind=HELD, at=call.now, by=_BY, note=note)
        except (FlowError, LockTimeoutError):
            continue
        progress = agents_text(session, children, call.now)
        return (
            f"You are not finished: {each.topic}, {each.position}.{f' {progress}.' if progress else ''} "
            f"Run `{each.command('resume')}`, do the step, report it. "
            f"If you need the user, run `{each.command('ask', '-')}`."
        )
    return None


def release_sessions(sessions: Iterable[HookSession], call: Call) -> None:
    """Record that the conversation of these sessions has ended, so that another one may continue them."""
    for each in sessions:
        if call.conversation is not None:
            release(each.store, [each.session.id], call.conversation, at=call.now, by=_BY)


def agents_text(session: Session, children: Children, now: str) -> str:
    """Return how many agents of a step have finished, work, or were not started."""
    agents = [children.get(dispatch.child) for dispatch in session.dispatches]
    states = [(child.status, child.moved_at) if child else (PENDING, "") for child in agents]
    return agents_progress(states, now)


def _has_work(each: HookSession, session: Session, children: Children, call: Call) -> bool:
    """Return whether the agent has something to do: to work on its step, or to launch agents.

    It has nothing to do while the user is asked, while only a person's confirmation is missing, while its sub-agents work,
    or if workers of a fleet start them.
    """
    if session.status != ACTIVE or not (session.parent or session.belongs_to(call.conversations)):
        return False
    if session.parent:
        check_still_working(each.store, session)
    missing = session.evidence.missing if session.evidence is not None else ()
    if any(child.status == WAITING for child in children.values()):
        return False
    if missing and all(result.kind == "person" for result in missing):
        return False
    ids = [dispatch.child for dispatch in session.dispatches]
    unfinished = [child for child in ids if child not in children or children[child].is_open]
    if FLEET in call.environ and unfinished:
        return False
    if any(child not in children for child in unfinished):
        return True  # some agents were never launched
    return not unfinished or call.has_background_tasks is False


def _progress(session: Session, children: Children) -> str:
    """Return a mark that changes whenever a sub-agent starts, reports, ends or is replaced."""
    if not session.dispatches:
        return ""
    agents = [(child.id, child.revision, child.status) for child in children.values()]
    return sha256_hex(repr((session.dispatches, agents)).encode())[:16]
