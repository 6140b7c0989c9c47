"""Commands in a refusal's hint, completed with the store that was named.

What refuses deep inside knows the session and not where it is kept; whoever runs the hint as it is must
not land in another store.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise

from flowrail.text.safe_text import can_be_typed

OF_A_STORE = frozenset(
    {
        *("abandon", "adopt", "answer", "ask", "audit", "claim", "coverage", "finding", "finish", "fork"),
        *("handoff", "history", "migrate", "prune", "record", "replay", "resume", "rewind", "sessions"),
        *("start", "status", "step", "verify"),
    }
)
"""The commands that look into a store."""
LONGEST_READ = 20_000
"""A longer hint is told in part, and is no command that could be run."""
_VERB = rf"flow (?:{'|'.join(sorted(OF_A_STORE))})\b"
_QUOTED = r"""(?<=\s)'[^']*+'(?:"'"'[^']*+')*+"""
"""A word in a shell's quotes, which holds somebody's value and no command of ours."""
_REST = rf"(?:{_QUOTED}|[^`])*+"
_COMMAND = re.compile(
    rf"{_QUOTED}|(?P<command>(?<=`){_VERB}{_REST}(?=`)|(?<![`\w-]){_VERB}{_REST}\Z)", re.DOTALL
)


def store_of(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Return the store that a command line or the environment names, as hints are to name it."""
    named = next((value for option, value in pairwise(words) if option == "--store"), None)
    named = named or next((word[8:] for word in words if word.startswith("--store=")), None)
    named = named or environ.get("FLOW_STORE") or None
    return os.path.abspath(named) if named else None


def in_store(hint: str, store: str | None) -> str:
    """Return *hint* with ``--store`` in each command that looks into one and does not name it yet."""
    if store is None or not can_be_typed(store) or "flow " not in hint or len(hint) > LONGEST_READ:
        return hint
    option = f" --store {shlex.quote(store)}"

    def completed(found: re.Match[str]) -> str:
        words = "" if found["command"] is None else re.sub(_QUOTED, "", found[0])
        return found[0] if not words or "--store" in words or "--help" in words else found[0] + option

    return _COMMAND.sub(completed, hint)
