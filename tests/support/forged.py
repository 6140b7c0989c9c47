"""Journals changed by hand, with hashes that are right."""

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
    """Make a session one that came with a clone: without the mark of its user."""
    (folder_of(session) / "owner").unlink()


def sealed(record: Mapping[str, Any]) -> bytes:
    """Return *record* as a line of a journal whose hash is right, as anybody can make it."""
    text = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return text + b',"hash":"' + sha256(text).hexdigest().encode() + b'"}\n'


def forged_behind(session: str, /, **parts: Any) -> None:
    """Put a record behind the last one of a session, which has *parts* of its own; the copy goes."""
    journal = folder_of(session) / "journal.jsonl"
    last = json.loads(journal.read_bytes().splitlines()[-1])
    inner = {**last["session"], **parts.pop("session", {})}
    made = {**last, "seq": last["seq"] + 1, "prev": last["hash"], "session": inner, **parts}
    del made["hash"]
    journal.write_bytes(journal.read_bytes() + sealed(made))
    (folder_of(session) / "session.json").unlink(missing_ok=True)
