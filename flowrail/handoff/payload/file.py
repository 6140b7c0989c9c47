"""The payload's file in the session's folder: written once, as a whole, readable by its owner only.

2.0    handoffs/<sha256>.yaml, and handoff-payload.yaml, a copy of the newest
3.0    handoffs/<source>-to-<target>-<timestamp>.json
"""

from __future__ import annotations

import os
import re
from hashlib import sha256

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError
from flowrail.storage import files
from flowrail.text import limits

FOLDER = "handoffs"
NEWEST = "handoff-payload"


class PayloadExistsError(StorageError):
    """Another file has the name of the payload."""

    code = "PAYLOAD_EXISTS"


def file_name(version: str, form: str, digest: str, *, source: str, target: str, timestamp: str) -> str:
    """Return the name of the payload's file. *form* is its ending too."""
    if version == "2.0":
        return f"{digest}.{form}"
    return f"{_safe(source)}-to-{_safe(target)}-{re.sub(r'[^0-9TZ]', '', timestamp)}.{form}"


def write(path: str, data: bytes) -> None:
    """Write the payload once. The same bytes again change nothing; another file with that name is refused."""
    files.make_private_dir(os.path.dirname(path))
    if not os.path.lexists(path):
        files.write_atomic(path, data)
    elif digest_of(path) != sha256(data).hexdigest():
        raise PayloadExistsError(
            f"{path} already exists with other content",
            hint=Hint("move it away, then try again: ", Command("handoff retry")),
            place=path,
        )


def write_newest(session_folder: str, form: str, data: bytes) -> None:
    """Keep a copy of the newest 2.0 payload under its well-known name."""
    files.write_atomic(os.path.join(session_folder, f"{NEWEST}.{form}"), data)


def digest_of(path: str) -> str:
    """Return the digest of a payload's file, or an empty text if it cannot be read."""
    try:
        return sha256(files.read_bounded(path, limit=limits.PAYLOAD_BYTES, what="the payload")).hexdigest()
    except DocumentError:
        return ""


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60] or "skill"
