"""The journal of a session: one line a record, appended, each holding the hash of the one before.

A line is JSON whose last key is the hash of all the text before it, so that every changed bit shows,
without anybody having to agree on how JSON is written. Each record holds the complete session
after it: to go on, the first line and the last are read, however long the journal is. Long texts lie
beside it (`texts`), and what an earlier version wrote is read in the form of today (`upgrades`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flowrail.errors import StorageError, UsageError
from flowrail.machines.sessions import attachments, limits
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.upgrades import NewerFormatError, session_of_today
from flowrail.storage.records import RecordError, from_plain, to_plain
from flowrail.text import json as strict_json

_LINE, _CHUNK = 4_096, 65_536
_MARK = b',"hash":"'
_MAC = b',"mac":"'
_MAC_TAIL = len(_MAC) + 64 + len('"')
TAIL = len(_MARK) + 64 + len('"}')
EACH = b"each record is signed: "
"""What is signed with every record, so that a first record tells whether those behind it have to be."""
_END = re.compile(_MARK + rb'([0-9a-f]{64})"}')
_REFERENCE = f'"{attachments.MARK}"'.encode()
_ESCAPED = re.compile(rb"\\u00[2-7]")
"""What we never write, and others may write that mark by."""
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_PARTS = {"seq": int, "kind": str, "at": str, "by": str, "note": dict, "session": dict, "prev": str}


class DamagedError(StorageError):
    """A journal is not what was written; file and line are named."""

    code = "JOURNAL_DAMAGED"

    def __init__(self, path: str, line: int, what: str) -> None:
        super().__init__(
            f"{path}:{line}: {what}",
            hint="nothing was changed; restore the file from a copy, or start anew",
            place=f"{path}:{line}",
        )


class Record(NamedTuple):
    """One line: what happened, when, by whom, and the session after it.

    ``mac`` is proof that it was written with this user's key; earlier versions put one into the first record
    only. ``apart`` says that long texts of the session are references yet.
    """

    seq: int
    kind: str
    at: str
    by: str
    session: Session
    note: Mapping[str, Any]
    prev: str
    hash: str
    mac: str = ""
    apart: bool = False


class Tail(NamedTuple):
    """The last whole line of a journal, where it ends, and how many torn bytes follow it."""

    line: bytes
    end: int
    torn: int


class Written(NamedTuple):
    """A record as it goes to disk: its line, the session as plain data, and its long texts by file name."""

    line: bytes
    record: Record
    session: Mapping[str, Any]
    texts: Mapping[str, bytes]


def write(record: Record, key: bytes | None = None) -> Written:
    """Return *record* as it is to be written, with its hash; with a *key*, signed."""
    body: dict[str, Any] = {
        "seq": record.seq,
        "kind": record.kind,
        "at": record.at,
        "by": record.by,
        "note": dict(record.note),
        "session": to_plain(record.session),
        "prev": record.prev,
    }
    beside: dict[str, bytes] = {}
    text = b"" if record.session.dispatches or record.note.get("dispatches") else _dump(body)
    if not text or len(text) > limits.LONGEST_INLINE or _REFERENCE in text:
        for part in ("note", "session"):  # work for agents may name one long text thousands of times
            body[part] = attachments.parted(body[part], beside)
        if beside:
            _check_texts(body)
        text = _dump(body)
    if key is not None:
        record = record._replace(mac=sign(key, EACH + text))
        text = text[:-1] + _MAC + record.mac.encode() + b'"}'
    text = text[:-1]
    digest = hashlib.sha256(text).hexdigest()
    line = text + _MARK + digest.encode() + b'"}\n'
    if len(line) > limits.LARGEST_STATE:
        _check_size(line, body["session"]["state"])
    return Written(line, record._replace(hash=digest), body["session"], beside)


def read(line: bytes, path: str, number: int, load: attachments.Load | None = None) -> Record:
    """Return the record of one line; `DamagedError` where it is not as it was written.

    With *load* the session's long texts are loaded again; without it they stay references.
    """
    text = line.removesuffix(b"\n")
    body, digest = text[:-TAIL], text[-(64 + 2) : -2]
    if text != body + _MARK + digest + b'"}' or hashlib.sha256(body).hexdigest().encode() != digest:
        raise DamagedError(path, number, "the line is not as it was written")
    try:
        data = strict_json.parse(f"{body.decode()}}}")
        _check_parts(data)
        named = _REFERENCE in body or _ESCAPED.search(body) is not None
        if named:
            _join(data, load)
        return Record(
            seq=data["seq"],
            kind=data["kind"],
            at=data["at"],
            by=data["by"],
            session=from_plain(session_of_today(data["session"]), Session),
            note=data["note"],
            prev=data["prev"],
            hash=digest.decode(),
            mac=str(data.get("mac", "")),
            apart=load is None and named,
        )
    except NewerFormatError as error:
        raise NewerFormatError(
            f"{path}:{number}: {error.message}", hint=error.hint, place=f"{path}:{number}"
        ) from None
    except _UNREADABLE as error:
        raise _unreadable(error, path, number) from None


def whole(record: Record, load: attachments.Load, path: str) -> Record:
    """Return *record*, of the journal *path*, with every long text of its session loaded."""
    if not record.apart:
        return record
    try:
        data = {"session": to_plain(record.session), "note": dict(record.note)}
        _join(data, load)
        session = from_plain(data["session"], Session)
    except _UNREADABLE as error:
        raise _unreadable(error, path, record.seq + 1) from None
    return record._replace(session=session, note=data["note"], apart=False)


def _join(data: dict[str, Any], load: attachments.Load | None) -> None:
    """Load the long texts of a record's session and note; without *load*, only look how they are named."""
    parts = [data["session"], data["note"]]
    too_many = attachments.excess(attachments.names_in(parts))
    if too_many:
        raise ValueError(f"it names long texts of {too_many} bytes")
    if load is not None:
        data["session"], data["note"] = attachments.joined(parts, load)
        for name in ("session", "note"):
            if type(data[name]) is not dict:
                raise TypeError(name)


def _unreadable(error: Exception, path: str, number: int) -> DamagedError:
    if isinstance(error, RecordError):
        return DamagedError(path, number, f"the record is of another form: {error}")
    return DamagedError(path, number, f"the record cannot be read ({type(error).__name__}: {error})")


def signed_by(line: bytes, key: bytes, before: bytes = b"") -> bool:
    """Return whether a line of a journal carries the mark of *key*: its last part but the hash.

    What was signed stood behind *before*: `EACH` in journals of which every record is signed.
    """
    body = line.removesuffix(b"\n")[:-TAIL]
    text, mac = body[:-_MAC_TAIL], body[-65:-1]
    if not key or body != text + _MAC + mac + b'"':
        return False
    return hmac.compare_digest(mac, sign(key, before + text + b"}").encode())


def sign(key: bytes, body: bytes) -> str:
    """Return the mark of *key* on *body*."""
    return hmac.digest(key, body, "sha256").hex()


def hash_of(line: bytes, path: str, number: int) -> str:
    """Return the hash of a line, which is that of its text, or `DamagedError`."""
    text = line.removesuffix(b"\n")
    digest = hashlib.sha256(text[:-TAIL]).hexdigest()
    if text[-TAIL:] != _MARK + digest.encode() + b'"}':
        raise DamagedError(path, number, "the line is not as it was written")
    return digest


def first_line(fd: int, path: str) -> bytes:
    """Return the first line of an open journal."""
    data = b""
    while b"\n" not in data:
        piece = os.pread(fd, _more(data), len(data))
        if not piece or len(data) > limits.LARGEST_LINE:
            raise DamagedError(path, 1, "the first line is not whole")
        data += piece
    return data[: data.index(b"\n") + 1]


def tail(fd: int, path: str) -> Tail:
    """Return the last whole line of an open journal, read from its end."""
    size = os.fstat(fd).st_size
    data, start = b"", size
    while start > 0 and len(data) <= 2 * limits.LARGEST_LINE:
        step = min(_more(data), start)
        start -= step
        data = os.pread(fd, step, start) + data
        last = data.rfind(b"\n")
        begin = data.rfind(b"\n", 0, last) if last >= 0 else -1
        if begin >= 0 or (start == 0 and last >= 0):
            line = data[begin + 1 : last + 1]
            _check_torn(data[last + 1 :], fd, path)
            return Tail(line, start + last + 1, len(data) - last - 1)
    if start == 0:
        _check_torn(data, fd, path)
        return Tail(b"", 0, size)
    raise DamagedError(path, count_lines(fd), f"the last line has more than {limits.LARGEST_LINE} bytes")


def _more(data: bytes) -> int:
    """Return how much to read beside *data*: most lines are short, so little at first."""
    return min(max(_LINE, len(data)), _CHUNK)


def lines(fd: int, path: str) -> Iterator[bytes]:
    """Yield every whole line of an open journal, in order, holding one at a time."""
    at, number, rest = 0, 0, b""
    while piece := os.pread(fd, _CHUNK, at):
        at += len(piece)
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line + b"\n" for line in whole)
        number += len(whole)
        if len(rest) > limits.LARGEST_LINE:
            raise DamagedError(path, number + 1, f"the line has more than {limits.LARGEST_LINE} bytes")
    _check_torn(rest, fd, path)


def backwards(fd: int, path: str) -> Iterator[bytes]:
    """Yield the whole lines of an open journal from the last to the first, holding few at a time."""
    start, rest = tail(fd, path).end, b""
    while start > 0:
        step = min(_CHUNK, start)
        start -= step
        rest = os.pread(fd, step, start) + rest
        first, *whole = rest.split(b"\n")
        yield from (line + b"\n" for line in reversed(whole[:-1]))
        rest = first + b"\n"
    if rest:
        yield rest


def count_lines(fd: int) -> int:
    """Return how many whole lines an open journal has; at least one, for naming a place."""
    return max(1, _line_feeds(fd))


def _line_feeds(fd: int) -> int:
    at, found = 0, 0
    while piece := os.pread(fd, _CHUNK, at):
        at += len(piece)
        found += piece.count(b"\n")
    return found


def _check_torn(rest: bytes, fd: int, path: str) -> None:
    """Refuse what follows the last whole line where it is a record that lost only the end of its line.

    A writer that dies leaves the beginning of a line. One that is whole, with anything else in the place
    of its line feed, was acknowledged, and nobody may cut it off.
    """
    if len(rest) <= TAIL:
        return
    from hashlib import sha256  # only what a crash left is looked at so closely

    seen, at = sha256(), 0
    for found in _END.finditer(rest):
        seen.update(rest[at : found.start()])
        at = found.start()
        if found.end() < len(rest) and seen.copy().hexdigest().encode() == found.group(1):
            raise DamagedError(path, _line_feeds(fd) + 1, "the end of the line is not as it was written")


def _check_size(line: bytes, state: Any) -> None:
    """Refuse a record that is too long, or that holds too large a state."""
    size = len(_dump(state))
    if size <= limits.LARGEST_STATE and len(line) <= limits.LARGEST_LINE:
        return
    what = (
        f"the state would have {size} bytes; {limits.LARGEST_STATE} are the most"
        if size > limits.LARGEST_STATE
        else f"the record would have {len(line)} bytes; {limits.LARGEST_LINE} are the most"
    )
    raise limits.TooLargeError(
        what, hint="put what is long into files and report their paths", bytes=max(size, len(line))
    )


def _check_texts(body: Mapping[str, Any]) -> None:
    """Refuse a record that names its long texts so often that it could not be read again."""
    too_many = attachments.excess(attachments.names_in([body["session"], body["note"]]))
    if too_many:
        raise limits.too_often(too_many)


def _check_parts(data: Mapping[str, Any]) -> None:
    for name, kind in _PARTS.items():
        if type(data[name]) is not kind:
            raise TypeError(name)
    if len(data) > len(_PARTS) + ("mac" in data):
        raise KeyError(*sorted(data.keys() - _PARTS.keys() - {"mac"}))


def _dump(body: Mapping[str, Any]) -> bytes:
    try:
        return _json(body).encode()
    except ValueError as error:
        raise UsageError(
            f"the record would hold what is not in JSON: {str(error)[:100]}",
            hint="give plain numbers; a default of the workflow may be one that is none",
        ) from None
