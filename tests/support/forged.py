"""Journals that were changed by hand, with correct hashes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flowrail.storage.journal import line_of
from flowrail.storage.user_folders import state_folder
from flowrail.storage.user_mark import Owner


def folder_of(session: str) -> Path:
    """Return the folder of a session of the project."""
    return Path(".flow", "sessions", session)


def disown(session: str, folder: Path | None = None) -> None:
    """Remove the mark of the last record, as if the session came with a clone."""
    journal = (folder or folder_of(session)) / "journal.jsonl"
    *lines, last = journal.read_bytes().splitlines(keepends=True)
    record = json.loads(last)
    journal.write_bytes(b"".join(lines) + sealed(record))


def sealed(record: Mapping[str, Any]) -> bytes:
    """Return *record* as a line of a journal with a correct hash and without a mark."""
    body = {key: value for key, value in record.items() if key not in {"mark", "hash"}}
    return line_of(body)[0]


def marked(folder: Path, record: Mapping[str, Any]) -> bytes:
    """Return *record* as a line that this user wrote for the session or handoff in *folder*."""
    body = {key: value for key, value in record.items() if key not in {"mark", "hash"}}
    owner = Owner(state_folder(os.environ, str(Path.home())))
    return line_of(body, lambda text: owner.mark(str(folder.absolute()), text))[0]


def rewritten(folder: Path, change: Callable[[list[dict[str, Any]]], object], *, own: bool = True) -> None:
    """Change the records of a journal and chain them again; *own* if this user's key signs them."""
    journal, before, lines = folder / "journal.jsonl", "", []
    records = [json.loads(line) for line in journal.read_bytes().splitlines()]
    change(records)
    for record in records:
        made = {**record, "prev": before}
        lines.append(marked(folder, made) if own else sealed(made))
        before = json.loads(lines[-1])["hash"]
    journal.write_bytes(b"".join(lines))


def forged_behind(session: str, /, **parts: Any) -> None:
    """Append a copy of the last record with *parts* replaced, as this user."""
    journal = folder_of(session) / "journal.jsonl"
    last = json.loads(journal.read_bytes().splitlines()[-1])
    inner = {**last["session"], **parts.pop("session", {})}
    made = {
        **last,
        "seq": last["seq"] + 1,
        "prev": last["hash"],
        "session": inner,
        "definition": None,
        **parts,
    }
    journal.write_bytes(journal.read_bytes() + marked(folder_of(session), made))
