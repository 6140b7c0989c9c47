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
from flowrail.handoff.errors import MISSING, PayloadProblem
from flowrail.handoff.payload.digest import digest_of
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import json as strict_json
from flowrail.text import size_limits
from flowrail.text import yaml as yaml_text
from flowrail.text.safe_text import decode

FORMS = {"1.0": "yaml", "2.0": "yaml", "3.0": "json"}
"""The format of each version, which is the ending of its files."""
NEWEST_PAYLOAD = "handoff-payload.yaml"
"""The copy of the newest 2.0 payload."""
_INCOMPATIBLE = (
    "is `1.2`, programming-pm internal schema (incompatible); an adapter is needed, and adapters are deferred"
)


@dataclass(frozen=True)
class Payload:
    """A document that is a payload, or should be one."""

    version: str
    """Empty if it is unknown."""
    handoff: Mapping[str, Any]
    """The content of the key `handoff`."""
    source: str
    """The path of its file."""
    data: bytes = b""
    """The document."""
    problem: PayloadProblem | None = None
    """Why the version is unknown."""

    @property
    def digest(self) -> str:
        """The digest of the document."""
        return sha256_hex(self.data)


def read_file(path: str) -> Payload:
    """Return the payload in the file *path*. Links are not followed."""
    return read(files.read_bounded(path, limit=size_limits.PAYLOAD_BYTES, what="the payload"), source=path)


def read(data: bytes, *, source: str) -> Payload:
    """Return the payload in *data*; `DocumentError` if it is neither JSON nor YAML."""
    text = decode(data, source=source)
    value: Any = (
        strict_json.load(text, source=source, values=size_limits.VALUES)
        if text.lstrip()[:1] == "{"
        else yaml_text.load(text, source=source).value
    )
    whole = value if isinstance(value, Mapping) else {}
    found = whole.get("handoff", whole)
    handoff = found if isinstance(found, Mapping) else {}
    version = handoff.get("version")
    name = "" if isinstance(version, bool) else str(version)
    if name == "1.2" or {"producer", "consumer"} <= handoff.keys():
        problem = PayloadProblem("handoff.version", _INCOMPATIBLE)
    elif "handoff" not in whole:
        problem = PayloadProblem("handoff", "is missing: the document has no handoff", MISSING)
    elif found is not handoff:
        problem = PayloadProblem("handoff", "must be a mapping")
    elif version is None:
        problem = PayloadProblem("handoff.version", "is missing", MISSING)
    elif name not in FORMS:
        message = f"is `{str(version)[:20]}`; it must be `1.0`, `2.0` or `3.0`"
        problem = PayloadProblem("handoff.version", message)
    else:
        return Payload(name, handoff, source, data)
    return Payload("", handoff, source, data, problem)


def render(version: str, handoff: Mapping[str, object]) -> bytes:
    """Return the document of a payload. The same content gives the same bytes."""
    document = {"handoff": handoff}
    if FORMS[version] == "yaml":
        return yaml_text.dump(document).encode()
    try:
        return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        hint = "write the whole character, or remove it"
        raise DocumentError("half a character (a lone surrogate)", hint=hint, place="the payload") from None


def put(handoff: Mapping[str, object], path: str, value: object) -> dict[str, Any]:
    """Return *handoff* with *value* at a dotted *path*. Missing mappings are added."""
    name, dot, rest = path.partition(".")
    inner = handoff.get(name)
    return {**handoff, name: put(inner if isinstance(inner, Mapping) else {}, rest, value) if dot else value}


def get(handoff: object, path: str) -> Any:
    """Return the value at a dotted *path*, or `None`."""
    for name in path.split("."):
        handoff = handoff.get(name) if isinstance(handoff, Mapping) else None
    return handoff


def text_at(handoff: object, path: str) -> str:
    """Return the text at a dotted *path*, or an empty text."""
    value = get(handoff, path)
    return value if isinstance(value, str) else ""


def texts_at(handoff: object, path: str) -> list[str]:
    """Return the texts in the list at a dotted *path*."""
    value = get(handoff, path)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def payload_file_name(version: str, handoff: Mapping[str, object], digest: str) -> str:
    """Return the name of a payload's file: 2.0 is named by its digest, 3.0 by skills and time."""
    if version == "2.0":
        return f"{digest}.{FORMS[version]}"
    names = [text_at(handoff, f"{end}.skill") for end in ("source", "target")]
    safe = [re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60] or "skill" for name in names]
    time = re.sub(r"[^0-9TZ]", "", text_at(handoff, "timestamp"))
    return f"{'-to-'.join(safe)}-{time}.{FORMS[version]}"


def write_payload(path: str, data: bytes) -> None:
    """Write a payload once. Another file with its name is refused.

    It is not flushed: the handoff's record has the content, and `send` writes the file again if it is lost.
    """
    files.make_private_dir(os.path.dirname(path))
    if not os.path.lexists(path):
        files.write_atomic(path, data, durable=False)
    elif digest_of(path) != sha256_hex(data):
        hint = "move it away, then send again"
        message = f"{path} already exists with other content"
        raise StorageError(message, code="PAYLOAD_EXISTS", hint=hint, place=path)
