"""Journals that were changed by hand, with correct hashes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any


def folder_of(session: str) -> Path:
    """Return the folder of a session of the project."""
    return Path(".flow", "sessions", session)


def disown(session: str) -> None:
    """Remove the owner mark of a session, as if it came with a clone."""
    (folder_of(session) / "owner").unlink()


def sealed(record: Mapping[str, Any]) -> bytes:
    """Return *record* as a line of a journal with a correct hash."""
    text = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return text + b',"hash":"' + sha256(text).hexdigest().encode() + b'"}\n'


def forged_behind(session: str, /, **parts: Any) -> None:
    """Append a copy of the last record with *parts* replaced, and delete the snapshot."""
    journal = folder_of(session) / "journal.jsonl"
    last = json.loads(journal.read_bytes().splitlines()[-1])
    inner = {**last["session"], **parts.pop("session", {})}
    made = {**last, "seq": last["seq"] + 1, "prev": last["hash"], "session": inner, **parts}
    del made["hash"]
    journal.write_bytes(journal.read_bytes() + sealed(made))
    (folder_of(session) / "session.json").unlink(missing_ok=True)
