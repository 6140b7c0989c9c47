"""Read facts and answers from the command line and from files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from flowrail.errors import DocumentError, UsageError
from flowrail.machines.engine.reports import refuse_left_open
from flowrail.storage.files import read_bounded
from flowrail.text import json as strict_json
from flowrail.text import limits
from flowrail.text.safe_text import decode


def read_text(name: str, *, what: str) -> tuple[str, str]:
    """Return the text of the file *name*, or of standard input for ``-``, and its name for messages."""
    source = "standard input" if name == "-" else name
    if name == "-":
        data = sys.stdin.buffer.read(limits.JSON_BYTES + 1)
        if len(data) > limits.JSON_BYTES:
            raise DocumentError(f"has more than {limits.JSON_BYTES} bytes", hint="shorten it", place=source)
    else:
        data = read_bounded(name, limit=limits.JSON_BYTES, what=what, follow=True)
    return decode(data, source=source), source


def named_values(texts: Sequence[str], option: str, form: str = "NAME=VALUE") -> dict[str, str]:
    """Return texts of the form NAME=VALUE as names and values."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"`{option} {text[:60]}` is not {form}", hint=f"write it as `{option} {form}`")
        if name in values:
            raise UsageError(f"`{name[:80]}` is set twice", hint="set it once")
        values[name] = value
    return values


def given_facts(texts: Sequence[str], file: str | None) -> dict[str, Any]:
    """Return the facts of a report: those of -s and those of a file."""
    named = named_values(texts, "-s")
    values = read_facts(file) if file else {}
    twice = sorted(named.keys() & values.keys())
    if twice:
        raise UsageError(f"`{twice[0]}` is set twice, by -s and in the file", hint="set it once")
    return {**values, **named}


def facts_of(texts: Sequence[str], file: str | None) -> dict[str, object]:
    """Return facts that no step declares, each with a value."""
    facts = given_facts(texts, file)
    for name in named_values(texts, "-s"):
        refuse_left_open(name, facts[name])
    return facts


def given_answers(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return texts of the form QUESTION=OPTION as the answers to each question."""
    answers: dict[str, list[str]] = {}
    for text in texts:
        name, equals, option = text.partition("=")
        if not equals or not option.strip():
            raise UsageError(
                f"`{text[:60]}` is not QUESTION=OPTION", hint="write it as go=Yes, or go=other:TEXT"
            )
        answers.setdefault(name, []).append(option)
    return answers


def read_facts(name: str) -> dict[str, object]:
    """Return the object in the file *name*, or on standard input for ``-``."""
    text, source = read_text(name, what="the file of facts")
    value = strict_json.load(text, source=source)
    if not isinstance(value, dict):
        raise DocumentError("does not contain a JSON object", hint='write {"name": value}', place=source)
    return value
