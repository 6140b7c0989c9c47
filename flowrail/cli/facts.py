"""A file of facts: one JSON object, bounded, every number and key as JSON means it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from flowrail.errors import DocumentError, UsageError
from flowrail.machines.engine.reported_values import refuse_left_open
from flowrail.storage.files import read_bounded
from flowrail.text import json as strict_json
from flowrail.text.safe_text import decode

LARGEST = 1_000_000


def read_text(name: str, *, what: str) -> tuple[str, str]:
    """Return the text of the file *name*, or of standard input where it is ``-``, and what to call it."""
    source = "standard input" if name == "-" else name
    if name == "-":
        data = sys.stdin.buffer.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise DocumentError(f"has more than {LARGEST} bytes", hint="give less", place=source)
    else:
        data = read_bounded(name, limit=LARGEST, what=what, follow=True)
    return decode(data, source=source), source


def facts_of(assignments: Sequence[str], file: str | None) -> dict[str, object]:
    """Return facts that nobody declared: texts given one by one, and what a file holds."""
    named: dict[str, object] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"`-s {text[:60]}` is not NAME=VALUE", hint="write it as `-s NAME=VALUE`")
        refuse_left_open(name, value, "-s")
        named[name] = value
    return {**(read_facts(file) if file else {}), **named}


def read_facts(name: str) -> dict[str, object]:
    """Return the object in the file *name*, or on standard input where it is ``-``."""
    text, source = read_text(name, what="the file of facts")
    value = strict_json.load(text, source=source)
    if not isinstance(value, dict):
        raise DocumentError("holds no JSON object", hint='write {"name": value}', place=source)
    return value
