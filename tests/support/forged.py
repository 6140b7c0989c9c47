"""Records as somebody else can make them: hashes that are right, and no key of this user's."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from flowrail.machines.sessions import definition_snapshot
from flowrail.machines.sessions.user_key import user_key
from flowrail.storage.journal import EACH


def folder_of(session: str) -> Path:
    """Return the folder of a session of the project."""
    return Path(".flow", "sessions", session)


def sealed(record: Mapping[str, Any]) -> bytes:
    """Return *record* as a line of a journal whose hash is right, as anybody can make it."""
    text = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return text + b',"hash":"' + sha256(text).hexdigest().encode() + b'"}\n'


def signed(record: Mapping[str, Any]) -> bytes:
    """Return *record* as this user's own hand would write it: marked with the key, and hashed."""
    key = user_key(str(Path.home() / ".local" / "state" / "flowrail"))
    body = {name: value for name, value in record.items() if name not in {"mac", "hash"}}
    text = json.dumps(body, separators=(",", ":")).encode()
    return sealed({**body, "mac": hmac.digest(key, EACH + text, "sha256").hex()})


def redefined(session: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the workflow in the definition that a session keeps, as this user's own hand would."""
    path = folder_of(session) / "definition.json"
    kept = json.loads(path.read_bytes())
    del kept["mac"]
    change(kept["workflow"])
    key = user_key(str(Path.home() / ".local" / "state" / "flowrail"))
    path.write_bytes(definition_snapshot.to_bytes(kept, session, key))


def forged_behind(session: str, /, **parts: Any) -> None:
    """Put a record behind the last one of a session, which has *parts* of its own; the copy goes."""
    journal = folder_of(session) / "journal.jsonl"
    last = json.loads(journal.read_bytes().splitlines()[-1])
    inner = {**last["session"], **parts.pop("session", {})}
    made = {**last, "seq": last["seq"] + 1, "prev": last["hash"], "session": inner, **parts}
    journal.write_bytes(
        journal.read_bytes() + sealed({k: v for k, v in made.items() if k not in {"hash", "mac"}})
    )
    (folder_of(session) / "session.json").unlink(missing_ok=True)
