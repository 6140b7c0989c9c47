"""What a session keeps of its workflow: written when it begins and when the workflow changes, read at every step.

What this user wrote, or took over as it is, is read as it is: their mark is in it, as in every record. Anything
else has to be one with which a session could have begun, and small enough to be looked at in a moment.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flowrail.errors import DocumentError, StorageError
from flowrail.machines.sessions import limits
from flowrail.machines.sessions.upgrades import definition_of_today
from flowrail.machines.sessions.user_key import Taken
from flowrail.storage import files
from flowrail.text import json as strict_json

DEFINITION = "definition.json"
"""So many commas are read of one that somebody else wrote: of ours, each stands for ten bytes and more."""
_MAC = b'"mac":"'
_TAIL = len(_MAC) + 64 + len('"}')


class Vouched(NamedTuple):
    """What is known of a session: whether all of it is the user's own, and marked, and how it was taken over."""

    own: bool
    marked: bool
    taken: Taken | None


def to_bytes(definition: Mapping[str, Any], session_id: str = "", key: bytes = b"") -> bytes:
    """Return *definition* as a session keeps it, marked with *key*; refused where it could not be read again."""
    text = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
    body = text.encode("utf-8", "backslashreplace")[:-1] + (b"," if definition else b"")
    if len(body) + _TAIL > limits.LARGEST_OWN_DEFINITION:
        raise limits.TooLargeError(
            f"the workflow takes {len(body)} bytes; {limits.LARGEST_OWN_DEFINITION} are the most that a session keeps",
            hint="part the workflow, or put long texts into files and name their paths",
            bytes=len(body),
        )
    return body + _MAC + _marked(body, session_id, key) + b'"}'


def read(
    path: str, session_id: str, key: bytes, vouched: Vouched, said: Callable[[str], str]
) -> dict[str, Any]:
    """Return the definition at *path*; *said* returns a command of its session."""
    data = _bytes(path)
    listed = None if vouched.taken is None else vouched.taken.definitions
    if listed is not None:
        known = hashlib.sha256(data).hexdigest() in listed
    else:
        known = _is_marked(data, session_id, key) if vouched.marked else vouched.own
    value = _parsed(data) if known or len(data) <= limits.LARGEST_DEFINITION else None
    if value is None:
        raise StorageError(
            f"{path} is damaged", hint=f"the journal is whole; `{said('migrate')}` writes it anew", place=path
        )
    value.pop("mac", None)
    value = definition_of_today(value)
    if listed is not None and not known:
        raise StorageError(
            f"{path} is not the definition that was taken over",
            hint=f"restore it; or `{said('migrate')}` writes it anew, `{said('adopt')}` takes it over as it is now",
            place=path,
        )
    if vouched.marked and not known:
        raise StorageError(
            f"{path} is not as it was written",
            hint=f"restore it; or `{said('migrate')}` writes it anew",
            place=path,
        )
    if not known:
        _check_strange(value, path, said("migrate"))
    return value


def digest(path: str) -> str:
    """Return the digest of what is at *path* now."""
    return hashlib.sha256(_bytes(path)).hexdigest()


def usable(path: str) -> str:
    """Return the digest of a definition that somebody else wrote, empty where no session could go on with it."""
    data = _bytes(path)
    value = _parsed(data) if len(data) <= limits.LARGEST_DEFINITION else None
    try:
        _check_strange(definition_of_today(value or {}), path, "")
    except StorageError:
        return ""
    return hashlib.sha256(data).hexdigest()


def _marked(body: bytes, session_id: str, key: bytes) -> bytes:
    return hmac.digest(key, b"definition of " + session_id.encode() + b": " + body, "sha256").hex().encode()


def _is_marked(data: bytes, session_id: str, key: bytes) -> bool:
    body, digest = data[:-_TAIL], data[-(64 + 2) : -2]
    return data == body + _MAC + digest + b'"}' and hmac.compare_digest(
        digest, _marked(body, session_id, key)
    )


def _bytes(path: str) -> bytes:
    try:
        return files.read_bounded(path, limit=limits.LARGEST_OWN_DEFINITION, what="the session's definition")
    except DocumentError:
        return b""


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        value = strict_json.parse(data.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _check_strange(value: Mapping[str, Any], path: str, migrate: str) -> None:
    from flowrail.machines.sessions import strangers  # brings all checks

    try:
        strangers.check_definition(value)
    except strangers.StrangeError as error:
        raise StorageError(
            f"{path} is damaged: {error}", hint=f"`{migrate}` writes it anew", place=path
        ) from None
