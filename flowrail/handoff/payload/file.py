"""The payload's file in the session's folder: written once, whole or not at all, readable by its owner only.

2.0    handoffs/<sha256>.yaml, and handoff-payload.yaml, a copy of the newest
3.0    handoffs/<source>-to-<target>-<timestamp>.json
"""

from __future__ import annotations

import os
import re
from hashlib import sha256

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError
from flowrail.handoff.payload.document import JSON, LARGEST, YAML
from flowrail.storage import files

FOLDER = "handoffs"
NEWEST = "handoff-payload"
_ENDINGS = {YAML: "yaml", JSON: "json"}


class PayloadChangedError(StorageError):
    """There is a file in the payload's place, and it is another one."""

    code = "PAYLOAD_CHANGED"


def file_name(version: str, form: str, digest: str, *, source: str, target: str, timestamp: str) -> str:
    """Return what the payload's file is called."""
    ending = _ENDINGS[form]
    if version == "2.0":
        return f"{digest}.{ending}"
    when = re.sub(r"[^0-9TZ]", "", timestamp)
    return f"{_safe(source)}-to-{_safe(target)}-{when}.{ending}"


def write(path: str, data: bytes) -> None:
    """Write the payload once: the same again changes nothing, another one in its place is refused."""
    folder = os.path.dirname(path)
    files.make_private_dir(folder)
    if not os.path.lexists(path):
        files.write_atomic(path, data)
    elif digest_of(path) != sha256(data).hexdigest():
        raise PayloadChangedError(
            f"{path} is there already and holds something else",
            hint=Hint("move it away, then try again: ", Command("handoff retry")),
            place=path,
        )


def keep_newest(session_folder: str, form: str, data: bytes) -> None:
    """Keep a copy of the newest 2.0 payload where it is looked for by name."""
    files.write_atomic(os.path.join(session_folder, f"{NEWEST}.{_ENDINGS[form]}"), data)


def digest_of(path: str) -> str:
    """Return the digest of a payload's file, empty where it cannot be read."""
    try:
        return sha256(files.read_bounded(path, limit=LARGEST, what="the payload")).hexdigest()
    except DocumentError:
        return ""


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60] or "skill"
