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

OF_A_STORE = frozenset(
    {
        *("abandon", "adopt", "answer", "ask", "audit", "claim", "coverage", "finding", "finish", "fork"),
        *("handoff", "history", "migrate", "prune", "record", "replay", "resume", "rewind", "sessions"),
        *("start", "status", "step", "verify"),
    }
)
"""The commands that look into a store."""
_VERB = rf"flow (?:{'|'.join(sorted(OF_A_STORE))})\b"
_COMMAND = re.compile(rf"(?<=`){_VERB}[^`]*(?=`)|(?<![`\w-]){_VERB}[^`]*\Z")


def store_of(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Return the store that a command line or the environment names, as hints are to name it."""
    named = next((value for option, value in pairwise(words) if option == "--store"), None)
    named = named or next((word[8:] for word in words if word.startswith("--store=")), None)
    named = named or environ.get("FLOW_STORE") or None
    return os.path.abspath(named) if named else None


def in_store(hint: str, store: str | None) -> str:
    """Return *hint* with ``--store`` in each command that looks into one and does not name it yet."""
    if store is None or "flow " not in hint:
        return hint
    option = f" --store {shlex.quote(store)}"
    return _COMMAND.sub(lambda found: found[0] if "--store" in found[0] else found[0] + option, hint)
