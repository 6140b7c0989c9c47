"""After a tool was used: shell commands and the work of sub-agents are noted, and a look at what an edit made stale."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from flowrail.evidence import shell_history
from flowrail.hooks import subagents
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession, own_sessions, project_of
from flowrail.hooks.subagents import SESSION_ID, NotedChild
from flowrail.rules.tools import is_ours, written_files

TYPE_CHECKING = False  # not from `typing`, which would take a tenth of a hook
if TYPE_CHECKING:
    from typing import Any

_CHILD = rf"(?=.*\.){SESSION_ID}"


class MaybeStale:
    """A passed command that read files, and the edited files."""

    def __init__(self, session: FoundSession, run: Mapping[str, Any], project: str, paths: list[str]) -> None:
        self.session = session
        self.run = run
        self.project = project
        self.paths = paths


def look(event: str, call: Call, *found: FoundSession) -> tuple[MaybeStale, ...] | None:
    """Note what the agent did in the sessions that were *found*, or in the one that a sub-agent names.

    Return the commands whose result may be stale, or `None`.
    """
    failed = event == "post-tool-use-failure"
    child = _child_in(call.shell_line, call.cwd) if call.agent and not failed else None
    if child is not None:
        subagents.note_child(call.state, str(call.agent), child)
    own = found or own_sessions(call)
    _note_command(call, own, failed=failed)
    return tuple(_maybe_stale(call, own)) or None


def _child_in(line: str, cwd: str) -> NotedChild | None:
    """Return the first child session that a shell line passes to `flow`."""
    import shlex  # 0.3 ms, which only the calls of sub-agents need

    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    child = next((word for word in words if re.match(_CHILD, word)), None)
    if child is None or not {"flow", "flowrail"}.intersection(words):
        return None
    store = words[words.index("--store") + 1] if "--store" in words[:-1] else ""
    return NotedChild(
        child, store if not store or "://" in store else os.path.abspath(os.path.join(cwd, store))
    )


def _note_command(call: Call, own: Iterable[FoundSession], *, failed: bool) -> None:
    """Note the shell command that has ended in the sessions whose step ran it; the journal has those of flow."""
    if not call.shell_line or is_ours(call.shell_line) or call.is_interrupted:
        return
    if failed or _has_ended(call):
        for found in own:
            shell_history.record(
                found.folder,
                call.shell_line,
                step_entered=str(found.data["moved_at"]),
                at=call.now,
                status=None if failed else 0,
            )


def _has_ended(call: Call) -> bool:
    """Return whether a command has ended, and without an interpretation of its exit status as harmless.

    Hosts whose answer has another form report failed commands in the same way, so their events prove nothing.
    """
    if call.tool_input.get("run_in_background") or "stdout" not in call.response:
        return False
    names = ("interrupted", "backgroundTaskId", "returnCodeInterpretation")
    return not any(call.response.get(name) for name in names)


def _maybe_stale(call: Call, own: Iterable[FoundSession]) -> Iterator[MaybeStale]:
    """Yield each passed command that read files, if this call may have edited files."""
    if not (call.is_edit or ">" in call.shell_line or "tee" in call.shell_line):
        return
    for found in own:
        project = project_of(found, call)
        paths = [
            os.path.relpath(os.path.realpath(os.path.join(call.cwd, path)), os.path.realpath(project))
            for path in written_files(call.tool_use(project))
        ]
        for run in found.data.get("runs", ()) if paths else ():
            if run.get("verdict") == "pass" and run.get("reads"):
                yield MaybeStale(found, run, project, paths)
