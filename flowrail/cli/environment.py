"""A call of a command about sessions, and the facts, answers and texts that it is given."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import click

from flowrail.cli import options, output
from flowrail.command import Command
from flowrail.errors import DocumentError, UsageError
from flowrail.formatters.data import as_data
from flowrail.formatters.guidance import blocks
from flowrail.machines.engine.reports import refuse_left_open
from flowrail.machines.guidance.guide import Guidance
from flowrail.operations.environment import Environment
from flowrail.operations.running.conversations import own_session
from flowrail.storage.files import read_bounded
from flowrail.text import json as strict_json
from flowrail.text import limits
from flowrail.text.safe_text import decode


class SessionCall(options.Call):
    """A call of a command that reads or changes sessions.

    Once it has looked at its environment, standard output is kept for the answer.
    """

    conversation: ClassVar[str | None] = None
    """The conversation of the caller if it is not the one that the host names; empty for none."""

    @cached_property
    def environment(self) -> Environment:
        """Where the command was called."""
        output.keep_apart()
        return Environment(
            store=self.store,
            roots=self.roots,
            tell=lambda line: output.notes([line]),
            conversation=self.conversation,
            wait=self.wait,
        )

    def session(self, session_id: str | None) -> str:
        """Return the given session, or the one that a command without an id is about."""
        if session_id:
            return session_id
        verb = click.get_current_context().command_path.partition(" ")[2]

        def named(own: str) -> Command:
            return Command(verb, own, store=self.environment.shown_store)

        return own_session(self.environment, named).session.id

    def show(self, guidance: Guidance, notes: Iterable[str] = ()) -> None:
        """Print *notes* and a step: by default as text on a terminal, as XML in a pipe."""
        output.notes(notes)
        output.together()
        form = self.form or output.usual_form()
        if form == "xml":
            output.text(blocks.xml(guidance))
        elif form == "text":
            output.report(blocks.report(guidance))
        else:
            output.data(as_data(guidance))


class OwnCall(SessionCall):
    """A call that belongs to no conversation, even if an agent makes it."""

    conversation = ""


def read_text(name: str, *, label: str) -> tuple[str, str]:
    """Return the text of the file *name*, or of standard input for ``-``, and its name for messages."""
    source = "standard input" if name == "-" else name
    if name == "-":
        data = sys.stdin.buffer.read(limits.JSON_BYTES + 1)
        if len(data) > limits.JSON_BYTES:
            raise DocumentError(f"has more than {limits.JSON_BYTES} bytes", hint="shorten it", place=source)
    else:
        data = read_bounded(name, limit=limits.JSON_BYTES, what=label, follow=True)
    return decode(data, source=source), source


def read_given(text: str, *, label: str) -> tuple[str, str]:
    """Return a document that was given itself, in a file, or on standard input, and its name for messages."""
    return (text, label) if text.lstrip()[:1] in {"{", "[", "<"} else read_text(text, label=label)


def given_facts(named: Mapping[str, str], file: str | None) -> dict[str, Any]:
    """Return the facts of a report: those of -s and those of a file."""
    values = read_facts(file) if file else {}
    twice = sorted(named.keys() & values.keys())
    if twice:
        raise UsageError(f"`{twice[0]}` is set twice, by -s and in the file", hint="set it once")
    return {**values, **named}


def facts_of(named: Mapping[str, str], file: str | None) -> dict[str, object]:
    """Return facts that no step declares, each with a value."""
    for name, value in named.items():
        refuse_left_open(name, value)
    return given_facts(named, file)


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
    text, source = read_text(name, label="the file of facts")
    value = strict_json.load(text, source=source)
    if not isinstance(value, dict):
        raise DocumentError("does not contain a JSON object", hint='write {"name": value}', place=source)
    return value
