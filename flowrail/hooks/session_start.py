"""The start of a conversation, also after its context was compacted: the agent reads which sessions there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flowrail.evidence import shell_history
from flowrail.hooks.call import Call
from flowrail.hooks.stop import agents_text
from flowrail.hooks.stored import HookSession
from flowrail.hosts.host import LONGEST_ANSWER
from flowrail.machines.session import ABANDONED, COMPLETED, WAITING, Session
from flowrail.operations.steps.session_choice import RESULT_SECONDS
from flowrail.text.phrases import ago, seconds_between


def overview(sessions: Iterable[HookSession], call: Call) -> str:
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
    progress = agents_text(session, each.children, call.now)
    moved = f"last report {ago(session.moved_at, call.now)}"
    last = moved if session.revision else f"started {ago(session.started_at, call.now)}"
    about = f"- {each.topic}, {each.position}, {last}."
    about += f" {progress}." if progress else ""
    about += " Waits for the user's answer." if session.status == WAITING else ""
    if session.belongs_to(call.conversations):
        return f"{about}\n  Run this now; it does not move the session: `{resume}`{_commands_of_step(each, call.now)}"
    if session.owner is not None:
        return f"{about}\n  Belongs to another conversation. Leave it alone unless the user asks. ID: {session.id}"
    return f"{about}\n  Belongs to no conversation. If the user asks to continue it: `{resume}`"


def _commands_of_step(each: HookSession, now: str) -> str:
    """Return the last shell commands of the current step, which the agent may have forgotten."""
    folder = each.store.folder(each.session.id)
    shown = shell_history.last_in_words(folder, step_entered=each.session.moved_at, now=now)
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
