"""A line of a handoff's journal: what happened, signed by its writer, and the hash that the next one names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from flowrail.handoff.handoff import Handoff
from flowrail.machines.sessions import limits
from flowrail.storage import journal
from flowrail.storage.journal import DamagedError
from flowrail.storage.records import RecordError, from_plain, to_plain
from flowrail.text import json as strict_json

_MARK = b',"hash":"'
_TAIL = len(_MARK) + 64 + len('"}')
_PARTS = {"seq": int, "kind": str, "at": str, "by": str, "note": dict, "handoff": dict, "prev": str}


class Entry(NamedTuple):
    """One line: what happened, when, by whom, and the handoff after it."""

    seq: int
    kind: str
    at: str
    by: str
    handoff: Handoff
    note: Mapping[str, Any]
    prev: str
    hash: str


def written(entry: Entry, key: bytes) -> tuple[bytes, str]:
    """Return the line of *entry*, signed with *key*, and its hash."""
    body: dict[str, Any] = {
        "seq": entry.seq,
        "kind": entry.kind,
        "at": entry.at,
        "by": entry.by,
        "note": dict(entry.note),
        "handoff": to_plain(entry.handoff),
        "prev": entry.prev,
    }
    body["mac"] = journal.sign(key, _dump(body))
    text = _dump(body)[:-1]
    digest = sha256(text).hexdigest()
    line = text + _MARK + digest.encode() + b'"}\n'
    if len(line) > limits.LARGEST_LINE:
        raise limits.TooLargeError(
            f"the record would have {len(line)} bytes; {limits.LARGEST_LINE} are the most",
            hint="move what is long to files and hand over their paths",
            bytes=len(line),
        )
    return line, digest


def read_line(line: bytes, path: str, number: int) -> Entry:
    """Return what *line*, the one of that *number* in the journal at *path*, says; refused where it is damaged."""
    text = line.removesuffix(b"\n")
    body, digest = text[:-_TAIL], text[-(64 + 2) : -2]
    if text != body + _MARK + digest + b'"}' or sha256(body).hexdigest().encode() != digest:
        raise DamagedError(path, number, "the line is not as it was written")
    try:
        data = strict_json.parse(f"{body.decode()}}}")
        shape = {name: type(value) for name, value in data.items() if name != "mac"}
        handoff = from_plain(data["handoff"] if shape == _PARTS else None, Handoff)
        return Entry(
            data["seq"],
            data["kind"],
            data["at"],
            data["by"],
            handoff,
            data["note"],
            data["prev"],
            digest.decode(),
        )
    except (RecordError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(path, number, f"the record is of another form: {error}") from None


def _dump(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True).encode()
