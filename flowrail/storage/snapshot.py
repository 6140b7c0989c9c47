"""A readable copy of the newest record. It also shows that a journal lost lines.

It is overwritten after each record and never flushed: losing it costs nothing. Its last line holds a checksum,
so an incomplete copy is ignored. If the copy names a later record than the journal has, the journal lost lines.
If it names an earlier record, a writer died before it renewed the copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from flowrail.errors import DocumentError, StorageError
from flowrail.storage import files
from flowrail.storage.digests import sha256
from flowrail.text import limits

_END = re.compile(rb',\n "seq": (\d{1,15}),\n "hash": "([0-9a-f]{64})",\n "check": "([0-9a-f]{16})"\n}\n\Z')
_CHECK_LENGTH = len(',\n "check": "0123456789abcdef"\n}\n')
_LARGEST = 4 * limits.RECORD_BYTES
_json = json.JSONEncoder(ensure_ascii=False, separators=(",\n  ", ": ")).encode


class LinesLostError(StorageError):
    """The copy names a record that the journal does not have."""

    code = "LINES_LOST"


class Snapshot(NamedTuple):
    """Number and hash of the record that a copy was made of."""

    seq: int
    hash: str


def write(path: str, noun: str, value: Mapping[str, object], seq: int, digest: str) -> None:
    """Replace the copy at *path*: *value* under *noun*, one line for each of its keys."""
    text = f'{{\n "{noun}": {_json(value)},\n "seq": {seq},\n "hash": "{digest}"'
    body = text.encode("utf-8", "backslashreplace")
    files.write_over(path, body + f',\n "check": "{_check(body)}"\n}}\n'.encode())


def read(path: str) -> Snapshot | None:
    """Return which record the copy at *path* is of, or `None` if the copy is incomplete."""
    data = _bytes(path)
    end = _END.search(data)
    if end is None or end[3].decode() != _check(data[:-_CHECK_LENGTH]):
        return None
    return Snapshot(int(end[1]), end[2].decode())


def content(path: str) -> dict[str, object] | None:
    """Return the content of the copy at *path*, or `None` if it is not JSON."""
    try:
        data = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def check(path: str, seen: Snapshot | None, seq: int, digest: str) -> None:
    """Refuse a journal that ends with record *seq* if its copy has *seen* a later or another one; -1 is none."""
    if seen is None or seen.seq < seq or (seen.seq, seen.hash) == (seq, digest):
        return
    another = "another " if seen.seq == seq else ""
    ends = f"ends with {another}record {seq}" if seq >= 0 else "has no record"
    raise LinesLostError(
        f"{path} is a copy of record {seen.seq}, but the journal {ends}",
        hint="nothing was changed; restore journal.jsonl from a backup, or start again",
        place=path,
    )


def _check(body: bytes) -> str:
    return sha256(body).hexdigest()[:16]


def _bytes(path: str) -> bytes:
    try:
        return files.read_bounded(path, limit=_LARGEST, what="the copy")
    except DocumentError:
        return b""
