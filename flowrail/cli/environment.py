"""The environment of a command, and the facts, answers and texts that it is given.

Standard output is kept for the answer, and author's functions have a time limit.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from flowrail.cli.lazy_imports import load_engine

load_engine()

from flowrail.cli import output  # noqa: E402 - the engine comes first, or asyncio comes with it
from flowrail.errors import DocumentError, UsageError  # noqa: E402 - the same
from flowrail.machines.engine.outcome import limit_functions  # noqa: E402 - the same
from flowrail.machines.engine.reports import refuse_left_open  # noqa: E402 - the same
from flowrail.operations.environment import Environment, World, world_of  # noqa: E402 - the same
from flowrail.operations.running.conversations import own_session  # noqa: E402 - the same
from flowrail.storage.files import read_bounded  # noqa: E402 - the same
from flowrail.text import json as strict_json  # noqa: E402 - the same
from flowrail.text import limits  # noqa: E402 - the same
from flowrail.text.safe_text import decode  # noqa: E402 - the same


def world(*, store: str | None, roots: Sequence[str] = (), wait: float = 10.0) -> World:
    """Return what sessions need, looked up where the command was called.

    From here on standard output is kept for the answer, and each function of an author is called
    under a time limit.
    """
    return world_of(environment(store, roots), wait=wait)


def environment(store: str | None, roots: Sequence[str], *, conversation: str | None = None) -> Environment:
    """Look up where the command was called, and see to its output and to the author's functions as `world` says.

    *conversation* is that of the caller if it is not the one that the host names; empty for none.
    """
    output.keep_apart()
    reset = limit_functions()
    command = click.get_current_context(silent=True)
    if command is not None:
        command.call_on_close(reset)
    return Environment(
        store=store, roots=roots, tell=lambda line: output.notes([line]), conversation=conversation
    )


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


def session_or_own(here: World, session_id: str | None) -> str:
    """Return the given session, or the one that a command without an id is about."""
    return session_id or own_session(here).session.id


def given_answers(texts: Sequence[str], asked: Callable[[], Sequence[str]]) -> dict[str, list[str]]:
    """Return texts of the form QUESTION=OPTION as the answers to each question; *asked* returns the open questions."""
    answers: dict[str, list[str]] = {}
    for text in texts:
        name, equals, option = text.partition("=")
        if not equals or not option.strip():
            names = [name, *asked()] if equals else asked()
            typed = shlex.quote(f"{next(iter(names), 'QUESTION')}={'OPTION' if equals else text[:60]}")
            raise UsageError(f"`{text[:60]}` is not QUESTION=OPTION", hint=f"write it as {typed}")
        answers.setdefault(name, []).append(option)
    return answers


def read_facts(name: str) -> dict[str, object]:
    """Return the object in the file *name*, or on standard input for ``-``."""
    text, source = read_text(name, what="the file of facts")
    value = strict_json.load(text, source=source)
    if not isinstance(value, dict):
        raise DocumentError("does not contain a JSON object", hint='write {"name": value}', place=source)
    return value
