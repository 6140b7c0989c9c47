"""After a file was edited: the commands whose result is stale because of that, each reported once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from flowrail.command import Command
from flowrail.evidence import project_files
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession
from flowrail.hooks.tool_notes import MaybeStale
from flowrail.text.safe_text import quotable

_SAID = "stale-said"
"""The file in the folder of a run that says that its result is stale, and that the agent was told so."""


def answer(event: str, call: Call, *found: MaybeStale) -> Mapping[str, object]:
    """Return the answer that names stale results, or an empty one."""
    said = " ".join(_stale_commands(found))
    return call.host.added_context(event, said) if said else {}


def _stale_commands(found: tuple[MaybeStale, ...]) -> Iterator[str]:
    """Yield a sentence for each command whose result is stale. Each is yielded once."""
    for stale in found:
        session, run = stale.session, stale.run
        path = _changed(session, run, stale.project, stale.paths)
        if path and _say_once(session, run):
            again = Command("run", run["command"], session=session.id, store=session.store.named)
            yield (
                f"`{quotable(run['command'])}` is stale: {quotable(path)} changed. "
                f"Run `{again}` again before you report."
            )


def _changed(found: FoundSession, run: Mapping[str, Any], project: str, paths: list[str]) -> str:
    """Return the first of *paths* that a run has read, and that is different now."""
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
