"""The lines of a host, each looked at before the SDK parses it: what is no call is answered, and the next is read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from flowrail.errors import FlowError, UsageError
from flowrail.storage.journal import TooLargeError

LONGEST = 4_000_000
"""Facts of a megabyte, also where each of their letters is written as an escape."""
DEEPEST = 64
"""Facts are half as deep; where a message is much deeper, the SDK answers nobody."""
_PIECE, _END = 65_536, 400
_LONG_NUMBER = re.compile(rb"\d{1000}")
_PARTS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|([\[{])|([\]}])|(\d{1000,})', re.DOTALL)
_NUMBER = 3
_ONE = "write one request on a line: jsonrpc, id, method, and params where there are any"
_ID = rb'"id"\s*:\s*([0-9]{1,15}|"[^"\\]{1,200}")\s*'
_FIRST, _LAST = (
    re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID),
    re.compile(_ID + rb"\}\s*\Z"),
)


@contextmanager
def standard_input() -> Iterator[BinaryIO]:
    """Give what the host writes; everybody else who reads standard input meanwhile finds nothing there."""
    ours, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield os.fdopen(ours, "rb", closefd=False)
    finally:
        os.dup2(ours, 0)
        os.close(ours)


class Refused(NamedTuple):
    """A line that is not handed on, by its id where that is known: of a large one, from either end of it."""

    id: str | int | None
    error: FlowError
    is_json: bool = True


def next_line(file: BinaryIO) -> str | Refused:
    """Return the next line, empty at the end; no more of it is kept than a call may have."""
    line = end = file.readline(LONGEST + 1)
    if len(line) > LONGEST:
        while not end.endswith(b"\n") and (piece := file.readline(_PIECE)):
            end = end[-_END:] + piece
    what = _too_much(line)
    if not what:
        text = line.decode(errors="replace")
        return _no_message(text) or text
    found = _FIRST.match(line) or _LAST.search(end[-_END:])
    hint = "put what is long into files and report their paths"
    return Refused(
        json.loads(found[1]) if found else None, TooLargeError(f"the message has more than {what}", hint=hint)
    )


def _no_message(text: str) -> Refused | None:
    """Return the refusal of what the SDK would not take, and answer nobody."""
    if not text.strip():
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return Refused(None, UsageError("the message is no JSON", hint=_ONE), is_json=False)
    if isinstance(said, dict) and said.get("jsonrpc") == "2.0" and _is_fine(said):
        return None
    known = said.get("id") if isinstance(said, dict) else None
    what = "the message is no request of JSON-RPC 2.0"
    return Refused(known if _is_id(known) else None, UsageError(what, hint=_ONE))


def _is_fine(said: Mapping[str, Any]) -> bool:
    if "method" not in said:
        return "result" in said or "error" in said
    params = said.get("params")
    return (
        isinstance(said["method"], str)
        and (params is None or isinstance(params, dict))
        and ("id" not in said or _is_id(said["id"]))
    )


def _is_id(value: object) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _too_much(line: bytes) -> str:
    if len(line) > LONGEST:
        return f"{LONGEST} bytes"
    return _too_odd(line)


def _too_odd(line: bytes) -> str:
    """Say what makes a line one that the SDK gives no answer to; empty where there is nothing."""
    if line.count(b"[") + line.count(b"{") <= DEEPEST and not _LONG_NUMBER.search(line):
        return ""
    depth = 0
    for part in _PARTS.finditer(line):
        if part.lastindex == _NUMBER:
            return "1000 digits in one number"
        depth += {None: 0, 1: 1, 2: -1}[part.lastindex]
        if depth > DEEPEST:
            return f"{DEEPEST} lists and mappings in each other"
    return ""
