"""One line of a session's journal: what happened, when, by whom, and the whole session after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.machines.sessions import attachments
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.upgrades import session_of_today
from flowrail.storage.file_store import SideFiles
from flowrail.storage.journal import Encoding
from flowrail.storage.records import from_plain, to_plain
from flowrail.text import limits


class Record(NamedTuple):
    """A record.

    ``definition`` is the digest of the workflow that the session uses from then on. ``conversation`` is the
    conversation of a host that wrote the record, and empty if a person or a program without one did.
    """

    seq: int
    kind: str
    at: str
    by: str
    session: Session
    note: Mapping[str, Any]
    prev: str
    hash: str = ""
    definition: str = ""
    conversation: str = ""


def encoding(side_files: SideFiles) -> Encoding[Record]:
    """Return how the records of the session with these side files are written and read."""
    load = attachments.loader(side_files)

    def decode(data: dict[str, Any], line: bytes) -> Record:
        if attachments.has_references(line):
            data = attachments.joined(data, load)
        data["session"] = session_of_today(data["session"])
        return from_plain(data, Record)

    return Encoding(_encode, decode, _split)


def _encode(record: Record) -> dict[str, Any]:
    data: dict[str, Any] = to_plain(record)
    del data["hash"]
    return data


def _split(data: dict[str, Any], line: bytes) -> tuple[dict[str, Any], dict[str, bytes]] | None:
    if len(line) <= limits.INLINE_TEXT_BYTES and not attachments.has_references(line):
        return None
    texts: dict[str, bytes] = {}
    parted = attachments.parted(data, texts)
    attachments.check_size(texts)
    return parted, texts
