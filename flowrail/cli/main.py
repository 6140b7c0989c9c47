"""Run a command, and turn errors into answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

import click

from flowrail import __version__
from flowrail.cli import streams, terminal
from flowrail.cli.command_table import COMMANDS, LazyGroup
from flowrail.command import Hint
from flowrail.errors import FlowError, UsageError

GUIDE = """Make an agent follow a procedure, step by step.

\b
A skill's procedure is a workflow: steps, and the next step for each outcome.
  flow list                      list the skills
  flow step SKILL                start a session, or show its current step
  flow step SKILL ok …           report the outcome and get the next step

Exit status: 0 done, 1 failed, 2 wrong use, 3 storage, 4 conflict, 5 the
definition changed, 6 handoff refused, 7 not approved.
"""


class NoSuchOptionError(UsageError):
    """An option, argument or value that the command does not take."""

    code = "WRONG_USE"


def group() -> click.Group:
    """Return the command line as one click group."""
    return LazyGroup(
        name="flow",
        help=GUIDE,
        table=COMMANDS,
        names_only=("For agents", "Occasionally"),
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Show the version and exit.",
            ),
            terminal.color_option(),
        ],
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Any error that is not a `FlowError` is a bug and raises."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with streams.answering():
            return _run(words)
    except streams.AnswerLostError as error:
        return _refuse(error, [])


def _run(words: list[str]) -> int:
    try:
        result = group().main(args=words, prog_name="flow", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except streams.AnswerLostError:
        raise
    except FlowError as error:
        return _refuse(error, words)
    except click.exceptions.NoArgsIsHelpError as error:
        streams.tell(f"{error.format_message()}\n")
        return UsageError.exit_status
    except click.UsageError as error:
        return _refuse(_wrong_use(error, words), words)
    except click.ClickException as error:
        return _refuse(UsageError(error.format_message(), hint="see --help"), words)
    except (KeyboardInterrupt, click.Abort):
        return 130
    except OSError:
        streams.put("")  # raises where standard output is what failed: help is written by click
        raise


def _refuse(error: FlowError, words: Sequence[str]) -> int:
    from flowrail.cli.output import refuse  # brings json, which help does without

    if isinstance(error.hint, Hint):
        with suppress(OSError):  # the current folder may be gone
            error.hint = error.hint.with_store(_named_store(words))
    if list(words[:1]) == ["handoff"] and not error.beside:
        error.beside = {
            "recoverable": True,
            "payload_preserved": None,
        }  # as in every error document of a handoff
    as_json = "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)
    return refuse(error, as_json=as_json)


def _named_store(words: Sequence[str]) -> str | None:
    """Return the store that hints must name: the one on the command line, or a folder in the environment."""
    named = next((value for option, value in pairwise(words) if option == "--store"), None)
    named = named or next((word.partition("=")[2] for word in words if word.startswith("--store=")), None)
    named = named or os.environ.get("FLOW_STORE")
    if not named or "://" in named:
        return named if named in words else None
    return os.path.abspath(named)


def _wrong_use(error: click.UsageError, words: Sequence[str]) -> FlowError:
    named = [word for word in words[:1] if word in COMMANDS]  # an option without its value knows no command
    path = error.ctx.command_path if error.ctx else " ".join(["flow", *named])
    near = getattr(error, "possibilities", None) or []
    meant = f"did you mean {', '.join(f'`{each}`' for each in near[:3])}?" if near else f"see `{path} --help`"
    if isinstance(error, click.NoSuchOption):
        return NoSuchOptionError(
            f"`{path}` has no option `{error.option_name}`", hint=meant, option=error.option_name
        )
    message = error.format_message().rstrip(".")
    return NoSuchOptionError(f"{path}: {message[:1].lower()}{message[1:]}", hint=meant)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"flow {__version__}")
        ctx.exit()
