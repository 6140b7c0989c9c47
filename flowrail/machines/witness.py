"""The readable copy of a session's newest record, which is a witness too.

It is replaced after each commit and never flushed: losing it costs nothing. One that has seen more than
its journal holds means that lines were lost; one that has seen less, that a writer died in between.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail import _files
from flowrail.errors import DocumentError, StorageError
from flowrail.machines import bounds

COPY = "session.json"


class LinesLostError(StorageError):
    """The copy knows of records that the journal does not have."""

    code = "LINES_LOST"


class Seen(NamedTuple):
    """The newest record that a copy knows of, and the session as it says."""

    seq: int
    hash: str
    session: Mapping[str, Any]


def write_copy(folder: str, seq: int, digest: str, session: Mapping[str, Any]) -> None:
    """Replace the copy in a session's *folder*."""
    _files.write_atomic(os.path.join(folder, COPY), copy_of(seq, digest, session), durable=False)


def copy_of(seq: int, digest: str, session: Mapping[str, Any]) -> bytes:
    """Return what the copy of a record says."""
    copy = {"seq": seq, "hash": digest, "session": session}
    return json.dumps(copy, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def seen_by(folder: str) -> Seen | None:
    """Return what the copy in *folder* has seen, or `None` where it tells nothing."""
    path = os.path.join(folder, COPY)
    try:
        data = _files.read_bounded(path, limit=4 * bounds.LARGEST_LINE, what="the session's copy")
        copy = json.loads(data)
        return Seen(int(copy["seq"]), str(copy["hash"]), copy["session"])
    except (DocumentError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


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
