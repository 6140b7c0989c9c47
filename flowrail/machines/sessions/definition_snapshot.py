"""What a session keeps of its workflow: written when it begins and when the workflow changes, read at every step.

Its digest is in the record from which on the session uses it, so that `flow session verify` finds changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from flowrail.errors import DocumentError
from flowrail.machines.sessions.upgrades import definition_of_today
from flowrail.storage.file_store import SideFiles
from flowrail.storage.journal import too_large
from flowrail.text import json as strict_json
from flowrail.text import limits

DEFINITION = "definition.json"


def to_bytes(definition: Mapping[str, object]) -> bytes:
    """Return *definition* as a session keeps it; refused if it is too large to be read again."""
    text = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > limits.DEFINITION_BYTES:
        hint = "split the workflow, or put long texts into files and name their paths"
        raise too_large("the workflow", len(data), limits.DEFINITION_BYTES, hint=hint)
    return data


def digest_of(data: bytes) -> str:
    """Return the digest of a definition as it is kept."""
    return sha256(data).hexdigest()


def kept_digest(side_files: SideFiles) -> str:
    """Return the digest of the definition that a session keeps, or nothing if it keeps none."""
    data = _bytes(side_files)
    return digest_of(data) if data else ""


def read(side_files: SideFiles) -> dict[str, Any] | None:
    """Return the definition that a session keeps, or `None` if it cannot be read."""
    try:
        value = strict_json.parse(_bytes(side_files).decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    value.pop("mac", None)  # earlier versions signed definitions
    return definition_of_today(value)


def _bytes(side_files: SideFiles) -> bytes:
    try:
        return side_files.read(DEFINITION, limits.DEFINITION_BYTES, "the session's definition")
    except DocumentError:
        return b""
