"""What a refused command prints, and its exit status: an error of ours, or of click, as a message and what to do next."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import pairwise

import click

from flowrail.cli import output
from flowrail.command import Hint
from flowrail.errors import FlowError, UsageError
from flowrail.text.safe_text import bounded, error_data, one_line, visible


class NoSuchOptionError(UsageError):
    """An option, argument or value that the command does not take."""

    code = "WRONG_USE"


def answer(error: FlowError | click.ClickException, words: Sequence[str], commands: Collection[str]) -> int:
    """Print why the command line *words* was refused, and return the exit status. *commands* are all there are."""
    if isinstance(error, click.UsageError):
        error = _wrong_use(error, words, commands)
    elif isinstance(error, click.ClickException):
        error = UsageError(error.format_message(), hint="see --help")
    if isinstance(error.hint, Hint):
        with suppress(OSError):  # the current folder may be gone
            error.hint = error.hint.with_store(_named_store(words))
    if list(words[:1]) == ["handoff"] and not error.beside:
        error.beside = {"recoverable": True, "payload_preserved": None}  # as in every error of a handoff
    as_json = "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)
    return refuse(error, as_json=as_json)


def refuse(error: FlowError, *, as_json: bool) -> int:
    """Print an error and return its exit status."""
    if as_json:
        try:
            body = {"error": error_data(error)}
            output.put(f"{json.dumps(body, ensure_ascii=True, indent=1, default=str)}\n")
        except output.AnswerLostError:
            as_json = False
    if not as_json:
        # text quoted in a message cannot look like another message or the hint
        message = "\n    ".join(map(str.strip, visible(bounded(error.message)).split("\n")))
        output.tell(f"flow: {message} [{error.code}]\n  {one_line(bounded(str(error.hint)))}\n")
    return error.exit_status


def _named_store(words: Sequence[str]) -> str | None:
    """Return the store that hints must name: the one on the command line, or a folder in the environment."""
    named = next((value for option, value in pairwise(words) if option == "--store"), None)
    named = named or next((word.partition("=")[2] for word in words if word.startswith("--store=")), None)
    named = named or os.environ.get("FLOW_STORE")
    if not named or "://" in named:
        return named if named in words else None
    return os.path.abspath(named)


def _wrong_use(error: click.UsageError, words: Sequence[str], commands: Collection[str]) -> FlowError:
    named = [word for word in words[:1] if word in commands]  # an option without its value knows no command
    path = error.ctx.command_path if error.ctx else " ".join(["flow", *named])
    near = getattr(error, "possibilities", None) or []
    meant = f"did you mean {', '.join(f'`{each}`' for each in near[:3])}?" if near else f"see `{path} --help`"
    if isinstance(error, click.NoSuchOption):
        return NoSuchOptionError(
            f"`{path}` has no option `{error.option_name}`", hint=meant, option=error.option_name
        )
    message = error.format_message().rstrip(".")
    return NoSuchOptionError(f"{path}: {message[:1].lower()}{message[1:]}", hint=meant)
