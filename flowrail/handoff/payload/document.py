"""A payload as a document: read from bytes that strangers wrote, its version detected, and written.

YAML and JSON are both taken, whatever the file is called. Which version it is, is settled before
anything is judged: by `handoff.version`, and for 1.2, which has none there, by its own keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from flowrail.errors import DocumentError
from flowrail.handoff.errors import INVALID, MISSING, Problem
from flowrail.machines.sessions.limits import LARGEST_PAYLOAD
from flowrail.storage import files
from flowrail.text import json as strict_json
from flowrail.text import limits
from flowrail.text import yaml as yaml_text
from flowrail.text.safe_text import decode

LARGEST = LARGEST_PAYLOAD
YAML, JSON = "yaml", "json"
FORMS = {"1.0": YAML, "1.2": YAML, "2.0": YAML, "3.0": JSON}
"""The form that each version is written in where none is asked for."""

_NO_LINES = yaml_text.Document(None, {}, "")


class Payload(NamedTuple):
    """A document that was read: its version (empty where it has none), and its bytes' digest and size."""

    version: str
    handoff: Mapping[str, Any]
    digest: str
    size: int
    source: str
    problems: tuple[Problem, ...] = ()
    extra: tuple[str, ...] = ()
    lines: yaml_text.Document = _NO_LINES

    def line(self, field: str) -> int:
        """Return the line that *field* stands in, 0 where that is not known."""
        if not self.lines.places:
            return 0
        path = tuple(int(part) if part.isascii() and part.isdigit() else part for part in field.split("."))
        return self.lines.line(path)


def read_file(path: str) -> Payload:
    """Return the payload in the file *path*; links are not followed."""
    return read(files.read_bounded(path, limit=LARGEST, what="the payload"), source=path)


def read(data: bytes, *, source: str) -> Payload:
    """Return the payload in *data*; `DocumentError` where it is neither YAML nor JSON."""
    text = decode(data, source=source)
    found = _json(text, source) if text.lstrip()[:1] == "{" else None
    document = found or yaml_text.load(data, source=source)
    version, handoff, problems = detect(document.value)
    value = document.value
    extra = (
        tuple(key for key in value if key != "handoff")
        if isinstance(value, Mapping) and problems == ()
        else ()
    )
    digest = sha256(data).hexdigest()
    return Payload(version, handoff, digest, len(data), source, problems, extra, document)


def detect(value: object) -> tuple[str, Mapping[str, Any], tuple[Problem, ...]]:
    """Return the version of a document, what it hands over, and why there is none where that is so."""
    if isinstance(value, Mapping) and {"producer", "consumer"} <= value.keys():
        return "1.2", value, ()
    if not isinstance(value, Mapping) or "handoff" not in value:
        return "", {}, (Problem("handoff", "is missing: the document holds no handoff", MISSING),)
    handoff = value["handoff"]
    if not isinstance(handoff, Mapping):
        return "", {}, (Problem("handoff", "is no mapping", INVALID),)
    if {"producer", "consumer"} <= handoff.keys():
        return "1.2", handoff, ()
    version = handoff.get("version")
    if version is None:
        return "", handoff, (Problem("handoff.version", "is missing", MISSING),)
    known = str(version) if not isinstance(version, bool) else ""
    if known not in FORMS or known == "1.2":
        shown = str(version)[:20]
        told = Problem("handoff.version", f"is `{shown}`, which is none of `1.0`, `2.0`, `3.0`", INVALID)
        return "", handoff, (told,)
    return known, handoff, ()


def render(handoff: Mapping[str, Any], form: str) -> bytes:
    """Return the bytes of a payload, the same for the same content."""
    document = {"handoff": handoff}
    if form == YAML:
        return yaml_text.dump(document).encode()
    try:
        return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        what, hint = "half a character (a lone surrogate)", "write that character whole, or leave it out"
        raise DocumentError(what, hint=hint, place="the payload") from None


def put(handoff: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return *handoff* with *value* at a dotted *path*; mappings on the way are made."""
    name, dot, rest = path.partition(".")
    inner = handoff.get(name)
    below = put(inner if isinstance(inner, Mapping) else {}, rest, value) if dot else value
    return {**handoff, name: below}


def get(handoff: object, path: str) -> Any:
    """Return what stands at a dotted *path*, `None` where nothing does."""
    for name in path.split("."):
        if not isinstance(handoff, Mapping):
            return None
        handoff = handoff.get(name)
    return handoff


def text_at(handoff: object, path: str) -> str:
    """Return the text at a dotted *path*, empty where there is none."""
    found = get(handoff, path)
    return found if isinstance(found, str) else ""


def texts_at(handoff: object, path: str) -> list[str]:
    """Return the texts of the list at a dotted *path*."""
    found = get(handoff, path)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list | tuple) else []


def _json(text: str, source: str) -> yaml_text.Document | None:
    """Return the JSON in *text*, or `None` if it is not JSON; it may be YAML."""
    try:
        value = strict_json.load(text, source=source, values=limits.VALUES)
    except strict_json.JsonRefusedError:
        raise
    except strict_json.JsonError:
        return None
    return yaml_text.Document(value, yaml_text.lines_of(text), source)
