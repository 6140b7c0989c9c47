"""The shell commands of the current step, in a file beside the journal.

A host's hook adds each command. After a compaction, the briefing shows the last ones: the agent may have forgotten them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress

from flowrail.text.safe_text import one_line, shortened

FILE = "shell.jsonl"
LONGEST_LINE = 300
MOST_ENTRIES = 200
MOST_SHOWN = 10
_NAMED_VALUE = (
    r"(?i)((?:[\w-]*(?:token|secret|passw(?:or)?d|passwd|api[_-]?key|credential)[\w-]*)(?:=|:\s*|\s+)|bearer\s+)"
    r"(\"[^\"]*\"|'[^']*'|[^\s'\"]+)"
)
_KEY = (
    r"\b(?:gh[pousr]_\w{20,}|sk-[\w-]{20,}|AKIA\w{12,}|xox[abp]-[\w-]{10,})\b|(?<=://)[^/@\s]+:[^/@\s]+(?=@)"
)


class ShellCommand:
    """A shell command that an agent ran in a step."""

    def __init__(self, text: str, step_entered: str, at: str, status: int | None) -> None:
        self.text = text
        """The command, shortened and without values that look like secrets."""
        self.step_entered = step_entered
        """When the session entered the step: it is another time in the next step."""
        self.at = at
        self.status = status
        """The exit status, if the host reports it."""


def record(folder: str, text: str, *, step_entered: str, at: str, status: int | None) -> None:
    """Add a command to the file in a session's *folder*. A file that cannot be written is left as it is."""
    path = os.path.join(folder, FILE)
    entry = ShellCommand(shortened(one_line(_without_secrets(text)), LONGEST_LINE), step_entered, at, status)
    kept = [known for known in _entries(path) if known.step_entered == step_entered][-(MOST_ENTRIES - 1) :]
    lines = "".join(json.dumps(vars(line), ensure_ascii=False) + "\n" for line in (*kept, entry))
    with suppress(OSError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(lines)


def last(folder: str, *, step_entered: str) -> list[ShellCommand]:
    """Return the last commands of the step that was entered at that time, oldest first."""
    entries = [entry for entry in _entries(os.path.join(folder, FILE)) if entry.step_entered == step_entered]
    return entries[-MOST_SHOWN:]


def _without_secrets(text: str) -> str:
    return re.sub(_KEY, "[…]", re.sub(_NAMED_VALUE, r"\1[…]", text))


def _entries(path: str) -> Iterator[ShellCommand]:
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError, TypeError):  # an interrupted write
                yield ShellCommand(**json.loads(line))
