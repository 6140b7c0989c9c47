"""The start and end of a conversation and of a turn: what is said about sessions, as their stores have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from flowrail.errors import FlowError
from flowrail.hooks import stored
from flowrail.hooks.call import Call
from flowrail.hooks.denials import guards_overview
from flowrail.hooks.first_look import FoundSession
from flowrail.hooks.stored import HookSession
from flowrail.hosts.conversation import FLEET, HELD
from flowrail.hosts.host import LONGEST_ANSWER
from flowrail.machines.agents import Children
from flowrail.machines.guidance.agent_work import PENDING
from flowrail.machines.session import Session
from flowrail.operations.steps.briefing import agents_progress, recent_commands
from flowrail.operations.steps.dispatched_work import check_still_working, children_of
from flowrail.operations.steps.session_choice import RESULT_SECONDS
from flowrail.operations.steps.session_ownership import release
from flowrail.session_status import ABANDONED, ACTIVE, COMPLETED, WAITING
from flowrail.storage.files import sha256_hex
from flowrail.storage.lock import LockTimeoutError
from flowrail.text.phrases import ago, seconds_between


def answer(event: str, call: Call, found: list[FoundSession] | None) -> Mapping[str, object]:
    """Return the answer to *event*; *found* is `None` if the store is a database."""
    if found is not None:
        return _answer(event, call, list(stored.stored_sessions(found, call)))
    with stored.database_limit():
        return _answer(event, call, _in_database(event, call))


def _in_database(event: str, call: Call) -> list[HookSession]:
    if event == "subagent-stop":
        child = stored.database_child(call)
        return [child] if child is not None else []
    sessions = stored.database_sessions(call)
    if event != "session-start":
        sessions = [each for each in sessions if each.session.is_open]
    return [each for each in sessions if event != "stop" or not each.session.parent]


def _answer(event: str, call: Call, sessions: list[HookSession]) -> Mapping[str, object]:
    if event == "session-start":
        text = "\n".join(filter(None, [_sessions_overview(sessions, call), guards_overview(call)]))
        return call.host.added_context(event, text) if text else {}
    if event == "session-end":
        _release_sessions(sessions, call)
        return {}
    reason = _reason_to_continue(sessions, call)
    return call.host.blocked_stop(reason) if reason else {}


def _sessions_overview(sessions: Iterable[HookSession], call: Call) -> str:
    """Return the open sessions with the command that shows each, those of this conversation first; empty without any."""
    shown = [
        each
        for each in sessions
        if not each.session.parent
        and each.session.status != ABANDONED
        and (each.session.is_open or _is_recent(each.session, call.now))
    ]
    shown.sort(key=lambda each: each.session.moved_at, reverse=True)
    shown.sort(key=lambda each: (not each.session.is_open, not each.session.belongs_to(call.conversations)))
    if not shown:
        return ""
    lines = [
        _result(each, call.now) if not each.session.is_open else _description(each, call) for each in shown
    ]
    return "\n".join(_fitting(["Sessions of `flow` in this folder:", *lines]))


def _description(each: HookSession, call: Call) -> str:
    """Return an open session as the agent reads it when its context is new."""
    session, resume = each.session, each.command("resume")
    progress = _agents_text(session, each.children, call.now)
    moved = f"last report {ago(session.moved_at, call.now)}"
    last = moved if session.revision else f"started {ago(session.started_at, call.now)}"
    about = f"- {each.topic}, {each.position}, {last}."
    about += f" {progress}." if progress else ""
    about += " Waits for the user's answer." if session.status == WAITING else ""
    if session.belongs_to(call.conversations):
        return f"{about}\n  Run this now; it does not change the session: `{resume}`{_commands_of_step(each, call.now)}"
    if session.owner is not None:
        return f"{about}\n  Belongs to another conversation. Leave it alone unless the user asks. ID: {session.id}"
    return f"{about}\n  Belongs to no conversation. If the user asks to continue it: `{resume}`"


def _commands_of_step(each: HookSession, now: str) -> str:
    """Return the last shell commands of the current step, which the agent may have forgotten."""
    shown = recent_commands(each.store, each.session, now)
    return f"\n  In this step you already ran: {', '.join(shown)}" if shown else ""


def _result(each: HookSession, now: str) -> str:
    """Return a session that has ended; its user may not know the result yet."""
    ended = "finished" if each.session.status == COMPLETED else "failed"
    return (
        f"- {each.topic}, {ended} {ago(each.session.moved_at, now)}.\n"
        f"  If the user does not know the result yet, run this and tell them: `{each.command('resume')}`"
    )


def _is_recent(session: Session, now: str) -> bool:
    """Return whether a session ended less than a day ago."""
    seconds = seconds_between(session.moved_at, now)
    return seconds is not None and seconds < RESULT_SECONDS


def _fitting(lines: Sequence[str]) -> Iterator[str]:
    """Yield as many lines as an answer has room for, and the number of the others."""
    characters_left = LONGEST_ANSWER - 60
    for number, line in enumerate(lines):
        characters_left -= len(line) + 1
        if characters_left < 0:
            yield f"- and {len(lines) - number} more: run `flow sessions`"
            return
        yield line


MOST_HOLDS = 3
"""An agent is kept from ending its turn at most this often while its session and its sub-agents make no progress."""
_WAIT = 2.0
_BY = "hook"


def _reason_to_continue(sessions: Iterable[HookSession], call: Call) -> str | None:
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
        progress = _agents_text(session, children, call.now)
        return (
            f"You are not finished: {each.topic}, {each.position}.{f' {progress}.' if progress else ''} "
            f"Run `{each.command('resume')}`, do the step, report it. "
            f"If you need the user, run `{each.command('ask', '-')}`."
        )
    return None


def _release_sessions(sessions: Iterable[HookSession], call: Call) -> None:
    """Record that the conversation of these sessions has ended, so that another one may continue them."""
    for each in sessions:
        if call.conversation is not None:
            release(each.store, [each.session.id], call.conversation, at=call.now, by=_BY)


def _agents_text(session: Session, children: Children, now: str) -> str:
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
    if any(child.needs_person for child in children.values()):
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
