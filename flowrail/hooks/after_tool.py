"""After a tool was used: shell commands are noted, and an edit that makes a result stale is reported once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from flowrail.command import Command
from flowrail.evidence import shell_history
from flowrail.hooks import subagents
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import (
    FoundSession,
    StoreFolder,
    is_in_database,
    own_sessions,
    project_of,
    session_at,
    store_folders,
)
from flowrail.rules.tools import is_ours, written_files
from flowrail.text.safe_text import in_quotes, shortened

_SAID = "stale-said"
"""The file in the folder of a run that says that its result is stale, and that the agent was told so."""
_LONGEST_NAME = 80


def answer(event: str, call: Call, host: str) -> Mapping[str, object]:
    """Note what the agent did; return the answer that names stale results, or an empty one."""
    if call.agent is not None and "flow" in call.shell_line:
        _note_claim(call.agent, call)
    if is_in_database(call):
        return {}
    _note_command(call, failed=event == "post-tool-use-failure")
    stale = " ".join(_stale_commands(call))
    if not stale:
        return {}
    from flowrail.hosts.host import host_named  # dataclasses, which take as long as starting Python

    return host_named(host).context(event, stale)


def _note_command(call: Call, *, failed: bool) -> None:
    """Note the shell command that has ended in the sessions whose step ran it; the journal has those of flow."""
    if not call.shell_line or is_ours(call.shell_line) or call.is_interrupted:
        return
    if failed or _has_ended(call):
        for found in own_sessions(call):
            shell_history.record(
                found.folder,
                call.shell_line,
                step_entered=str(found.data["moved_at"]),
                at=call.now,
                status=None if failed else 0,
            )


def _stale_commands(call: Call) -> Iterator[str]:
    """Yield a sentence for each passed command whose result is stale because of this edit. Each is yielded once."""
    for found in (
        own_sessions(call) if call.is_edit or ">" in call.shell_line or "tee" in call.shell_line else ()
    ):
        project = project_of(found, call)
        paths = [
            os.path.relpath(os.path.realpath(os.path.join(call.cwd, path)), os.path.realpath(project))
            for path in written_files(call.tool_use(project))
        ]
        for run in found.data.get("runs", ()):
            if paths and run.get("verdict") == "pass" and run.get("reads"):
                path = _changed(found, run, project, paths)
                if path and _say_once(found, run):
                    again = Command("run", run["command"], session=found.id)
                    yield (
                        f"`{_plain(run['command'])}` is stale: {_plain(path)} changed. "
                        f"Run `{again}` again before you report."
                    )


def _note_claim(agent: str, call: Call) -> None:
    """Note the first child session that a sub-agent's command names."""
    for named in subagents.named_work(call.shell_line):
        folders = store_folders(call)
        if named.store is not None and folders and "://" not in named.store:
            path = os.path.abspath(os.path.join(call.cwd, named.store))
            folders = [StoreFolder(path, path)]
        for folder in folders:
            if _is_child(named.session, folder):
                store = "" if folder.address else folder.path
                subagents.note_claim(call.state, agent, subagents.Claim(store, named.session))
                return


def _is_child(session_id: str, folder: StoreFolder) -> bool:
    if not folder.address:
        found = session_at(folder, session_id)
        return found is not None and found.is_child
    from flowrail.hooks.stored import session_in_database, time_limit  # needs the extra `sql`, and 200 ms

    with time_limit():
        session = session_in_database(session_id, folder)
        return session is not None and session.session.is_open and session.session.parent is not None


def _has_ended(call: Call) -> bool:
    """Return whether a command has ended, and without an interpretation of its exit status as harmless.

    Hosts whose answer has another form report failed commands in the same way, so their events prove nothing.
    """
    if call.tool_input.get("run_in_background") or "stdout" not in call.response:
        return False
    names = ("interrupted", "backgroundTaskId", "returnCodeInterpretation")
    return not any(call.response.get(name) for name in names)


def _changed(found: FoundSession, run: Mapping[str, Any], project: str, paths: list[str]) -> str:
    """Return the first of *paths* that a run has read, and that is different now."""
    from flowrail.evidence import project_files  # brings hashlib and git, for runs that read files

    try:
        with open(os.path.join(_folder(found, run), "reads.json"), encoding="utf-8") as file:
            known = json.load(file)
        for path in paths:
            before = known["files"].get(path)  # a new file may be one that git ignores
            if before is not None and before != project_files.digest(project, path):
                return path
    except (OSError, ValueError, KeyError, TypeError, project_files.UnreadableError):
        pass
    return ""


def _say_once(found: FoundSession, run: Mapping[str, Any]) -> bool:
    """Return whether nothing was said about a run yet, and remember that it is said now."""
    try:
        os.close(
            os.open(os.path.join(_folder(found, run), _SAID), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        )
    except OSError:
        return False
    return True


def _folder(found: FoundSession, run: Mapping[str, Any]) -> str:
    return os.path.join(found.store.path, "sessions", str(run["session"]), "runs", str(run["id"]))


def _plain(text: object) -> str:
    return in_quotes(shortened(str(text), _LONGEST_NAME))
