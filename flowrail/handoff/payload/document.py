"""Read and write a payload as YAML or JSON, and detect its version.

The version is detected before anything is validated. Documents of version 1.2 have no version, but their own keys.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flowrail.errors import DocumentError, StorageError
from flowrail.handoff.errors import INVALID, MISSING, PayloadProblem
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import json as strict_json
from flowrail.text import limits
from flowrail.text import yaml as yaml_text
from flowrail.text.safe_text import decode

YAML, JSON = "yaml", "json"
DEFAULT_FORM = {"1.0": YAML, "2.0": YAML, "3.0": JSON}
_KEYS_OF_1_2 = frozenset({"producer", "consumer"})
_INCOMPATIBLE = PayloadProblem(
    "handoff.version",
    "is `1.2`, programming-pm internal schema (incompatible); an adapter is needed, and adapters are deferred",
)


@dataclass(frozen=True)
class Payload:
    """A document that is a payload, or should be one."""

    version: str
    """Empty if it is unknown."""
    handoff: Mapping[str, Any]
    """The content of the key `handoff`."""
    digest: str
    """The digest of the document's bytes."""
    size: int
    """How many bytes the document has."""
    source: str
    """The path of its file."""
    problems: tuple[PayloadProblem, ...] = ()
    """Why the version is unknown."""
    text: str = ""
    """The document as text."""

    def lines(self) -> yaml_text.Document | None:
        """Return the document with the line of every field, or `None` if YAML cannot read it."""
        try:
            return yaml_text.load(self.text, source=self.source)
        except DocumentError:
            return None


def read_file(path: str) -> Payload:
    """Return the payload in the file *path*. Links are not followed."""
    return read(files.read_bounded(path, limit=limits.PAYLOAD_BYTES, what="the payload"), source=path)


def read(data: bytes, *, source: str) -> Payload:
    """Return the payload in *data*; `DocumentError` if it is neither JSON nor YAML."""
    text = decode(data, source=source)
    value = _parse(text, source)
    version, handoff, problems = detect(value)
    return Payload(version, handoff, sha256_hex(data), len(data), source, problems, text)


def detect(value: object) -> tuple[str, Mapping[str, object], tuple[PayloadProblem, ...]]:
    """Return the version of a document, its handoff, and the problems if it has no known version."""
    handoff = value.get("handoff", value) if isinstance(value, Mapping) else None
    if isinstance(handoff, Mapping) and (handoff.keys() >= _KEYS_OF_1_2 or handoff.get("version") == "1.2"):
        return "", handoff, (_INCOMPATIBLE,)
    if not isinstance(value, Mapping) or "handoff" not in value:
        return "", {}, (PayloadProblem("handoff", "is missing: the document has no handoff", MISSING),)
    if not isinstance(handoff, Mapping):
        return "", {}, (PayloadProblem("handoff", "must be a mapping"),)
    version = handoff.get("version")
    if version is None:
        return "", handoff, (PayloadProblem("handoff.version", "is missing", MISSING),)
    known = str(version) if not isinstance(version, bool) else ""
    if known not in DEFAULT_FORM:
        message = f"is `{str(version)[:20]}`; it must be `1.0`, `2.0` or `3.0`"
        return "", handoff, (PayloadProblem("handoff.version", message, INVALID),)
    return known, handoff, ()


def render(handoff: Mapping[str, object], form: str) -> bytes:
    """Return the bytes of a payload. The same content gives the same bytes."""
    document = {"handoff": handoff}
    if form == YAML:
        return yaml_text.dump(document).encode()
    try:
        return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        raise DocumentError(
            "half a character (a lone surrogate)",
            hint="write the whole character, or remove it",
            place="the payload",
        ) from None


def put(handoff: Mapping[str, object], path: str, value: object) -> dict[str, object]:
    """Return *handoff* with *value* at a dotted *path*. Missing mappings are added."""
    name, dot, rest = path.partition(".")
    inner = handoff.get(name)
    new = put(inner if isinstance(inner, Mapping) else {}, rest, value) if dot else value
    return {**handoff, name: new}


def get(handoff: object, path: str) -> Any:
    """Return the value at a dotted *path*, or `None`."""
    for name in path.split("."):
        if not isinstance(handoff, Mapping):
            return None
        handoff = handoff.get(name)
    return handoff


def text_at(handoff: object, path: str) -> str:
    """Return the text at a dotted *path*, or an empty text."""
    value = get(handoff, path)
    return value if isinstance(value, str) else ""


def texts_at(handoff: object, path: str) -> list[str]:
    """Return the texts in the list at a dotted *path*."""
    value = get(handoff, path)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _parse(text: str, source: str) -> object:
    if text.lstrip()[:1] == "{":
        return strict_json.load(text, source=source, values=limits.VALUES)
    return yaml_text.load(text, source=source).value


NEWEST_PAYLOAD = "handoff-payload"


def payload_file_name(
    version: str, form: str, digest: str, *, source: str, target: str, timestamp: str
) -> str:
    """Return the name of the payload's file. *form* is its ending too."""
    if version == "2.0":
        return f"{digest}.{form}"
    return f"{_safe(source)}-to-{_safe(target)}-{re.sub(r'[^0-9TZ]', '', timestamp)}.{form}"


def write_payload(path: str, data: bytes, *, newest: str = "") -> None:
    """Write the payload once, and a copy as *newest*. Another file with its name is refused.

    It is not flushed: the handoff's record has the content, and `send` writes the file again if it is lost.
    """
    files.make_private_dir(os.path.dirname(path))
    if not os.path.lexists(path):
        files.write_atomic(path, data, durable=False)
    elif digest_of(path) != sha256_hex(data):
        raise StorageError(
            f"{path} already exists with other content",
            code="PAYLOAD_EXISTS",
            hint="move it away, then send again",
            place=path,
        )
    if newest:
        files.write_atomic(newest, data, durable=False)


def digest_of(path: str) -> str:
    """Return the digest of a payload's file, or an empty text if it cannot be read."""
    try:
        return sha256_hex(files.read_bounded(path, limit=limits.PAYLOAD_BYTES, what="the payload"))
    except DocumentError:
        return ""


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60] or "skill"
