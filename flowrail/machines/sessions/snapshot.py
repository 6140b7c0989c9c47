"""The readable copy of a session's newest record, which is a witness too.

It is written over after each commit and never flushed: losing it costs nothing. Its last line tells whether
it is whole. One that has seen more than its journal holds means that lines were lost; one that has seen
less, that a writer died in between; one that is half written tells nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.errors import DocumentError, StorageError
from flowrail.machines.sessions import limits
from flowrail.storage import files
from flowrail.text import json as strict_json

COPY = "session.json"
"""So many commas are read of a copy: a state and a report of 256 kB each, and what else a record holds."""
_CHECK = b',\n "check": "'
_CHECK_TAIL = len(_CHECK) + 16 + len('"\n}\n')
_HEAD = re.compile(rb'\{\n "seq": (\d{1,15}),\n "hash": "([0-9a-f]{64})",\n')
_json = json.JSONEncoder(ensure_ascii=False, separators=(",\n  ", ": ")).encode


class LinesLostError(StorageError):
    """The copy knows of records that the journal does not have."""

    code = "LINES_LOST"


class Seen(NamedTuple):
    """The newest record that a copy knows of, the session as it says, and whether it is as it was written."""

    seq: int
    hash: str
    session: Mapping[str, Any]
    whole: bool = True


def write_copy(folder: str, seq: int, digest: str, session: Mapping[str, Any]) -> None:
    """Replace the copy in a session's *folder*."""
    files.write_over(f"{folder}/{COPY}", copy_of(seq, digest, session))


def copy_of(seq: int, digest: str, session: Mapping[str, Any]) -> bytes:
    """Return what the copy of a record says: a line for each value of the session.

    (The `json` module indents in Python, and takes ten times as long for it; what separates it can tell.)
    """
    copy = f'{{\n "seq": {seq},\n "hash": "{digest}",\n "session": {_json(session)}'
    return _whole(copy.encode("utf-8", "backslashreplace"))


def _whole(body: bytes) -> bytes:
    return body + _CHECK + hashlib.sha256(body).hexdigest()[:16].encode() + b'"\n}\n'


def is_whole(data: bytes) -> bool:
    """Return whether a copy is as it was written, all of it."""
    return data == _whole(data[:-_CHECK_TAIL])


def seen_by(folder: str, *, half: bool = False) -> Seen | None:
    """Return what the copy in *folder* has seen, or `None` where it tells nothing.

    One that is not as it was written counts only where *half* asks for it, and up to the size of a record.
    """
    try:
        data = files.read_bounded(
            os.path.join(folder, COPY), limit=4 * limits.LARGEST_LINE, what="the session's copy"
        )
        whole = is_whole(data)
        if not whole and not half and b'"check"' in data:
            return None
        if not whole and len(data) > limits.LARGEST_LINE:
            return None
        copy = strict_json.parse(data.decode())
        return Seen(int(copy["seq"]), str(copy["hash"]), copy["session"], whole)
    except (DocumentError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def newest_seen(folder: str) -> Seen | None:
    """Return what `seen_by` does, with an empty session: a step needs no more, and saves the reading."""
    try:
        data = files.read_bounded(
            f"{folder}/{COPY}", limit=4 * limits.LARGEST_LINE, what="the session's copy"
        )
    except DocumentError:
        return None
    head = _HEAD.match(data)
    if head is None or not is_whole(data):
        return seen_by(folder)
    return Seen(int(head[1]), head[2].decode(), {})


def check(folder: str, seq: int, digest: str, seen: Seen | None) -> None:
    """Refuse a journal that has fewer records than its copy has seen, or other ones; -1 means none."""
    if seen is None or seen.seq < seq or (seen.seq, seen.hash) == (seq, digest):
        return
    path = os.path.join(folder, COPY)
    another = "another " if seen.seq == seq else ""
    ends = f"ends with {another}record {seq}" if seq >= 0 else "has none"
    raise LinesLostError(
        f"{path} has seen record {seen.seq}, the journal {ends}",
        hint="nothing was changed; restore journal.jsonl from a copy, or start anew",
        place=path,
    )
