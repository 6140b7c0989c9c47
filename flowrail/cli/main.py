"""The table of commands, and the one place where errors become answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

import click

from flowrail import __version__
from flowrail.cli import streams
from flowrail.cli.lazy_group import Entry, LazyGroup
from flowrail.command import Hint
from flowrail.errors import FlowError, UsageError

_RUN, _WORK = "Run a procedure", "Work for others, questions, reviews"
_KEEP, _LOOK, _AUTHOR = "Keep sessions", "Look at skills", "Set up"
_HERE = "flowrail.cli.commands"

COMMANDS = {
    "step": Entry(
        f"{_HERE}.run.step", _RUN, "Show the current step, or report how it went and show the next"
    ),
    "start": Entry(f"{_HERE}.run.start", _RUN, "Start a new session and show its first step"),
    "status": Entry(f"{_HERE}.run.status", _RUN, "Tell where a session stands"),
    "sessions": Entry(f"{_HERE}.sessions.sessions", _RUN, "List the open sessions"),
    "resume": Entry(f"{_HERE}.run.resume", _RUN, "Show the current step of a session again"),
    "history": Entry(f"{_HERE}.sessions.history", _RUN, "Tell what happened in a session, when and by whom"),
    "claim": Entry(f"{_HERE}.agents.claim", _WORK, "Take a piece of work that a step hands out"),
    "finish": Entry(f"{_HERE}.agents.finish", _WORK, "End a piece of work that was given with a prompt"),
    "ask": Entry(f"{_HERE}.agents.ask", _WORK, "Put an agent's questions to the user"),
    "answer": Entry(f"{_HERE}.agents.answer", _WORK, "Record the user's answers and show how to go on"),
    "finding": Entry(f"{_HERE}.agents.finding", _WORK, "Record, list and resolve findings of a review"),
    "handoff": Entry(f"{_HERE}.handoff", _WORK, "Hand work from one skill to another"),
    "audit": Entry(f"{_HERE}.sessions.audit", _WORK, "Tell what was handed over and done, or prove it"),
    "abandon": Entry(f"{_HERE}.sessions.abandon", _RUN, "End a session that will not be finished"),
    "rewind": Entry(f"{_HERE}.sessions.rewind", _KEEP, "Take a session back to an earlier revision"),
    "fork": Entry(f"{_HERE}.sessions.fork", _KEEP, "Begin a new session from where another was"),
    "migrate": Entry(f"{_HERE}.sessions.migrate", _KEEP, "Take a session over to a changed workflow"),
    "verify": Entry(f"{_HERE}.sessions.verify", _KEEP, "Prove that sessions are as they were written"),
    "adopt": Entry(f"{_HERE}.sessions.adopt", _KEEP, "Take over a session that somebody else began"),
    "prune": Entry(f"{_HERE}.sessions.prune", _KEEP, "Delete old sessions that have ended"),
    "list": Entry(f"{_HERE}.skills.list", _LOOK, "List the skills in sight"),
    "show": Entry(f"{_HERE}.skills.show", _LOOK, "Show a skill's steps, ways on and parameters"),
    "check": Entry(f"{_HERE}.skills.check", _LOOK, "Name every mistake in a workflow"),
    "test": Entry(f"{_HERE}.testing.test", _LOOK, "Walk every way through a workflow and judge what is told"),
    "coverage": Entry(
        f"{_HERE}.testing.coverage", _LOOK, "Tell which ways through a workflow were taken, and which never"
    ),
    "record": Entry(f"{_HERE}.testing.record", _LOOK, "Turn a session into a test"),
    "replay": Entry(f"{_HERE}.testing.replay", _LOOK, "Run recorded sessions against today's workflows"),
    "preview": Entry(f"{_HERE}.skills.preview", _LOOK, "Show what a step tells, without a session"),
    "diagram": Entry(f"{_HERE}.skills.diagram", _LOOK, "Draw a workflow, or a session on it"),
    "discover": Entry(f"{_HERE}.skills.discover", _LOOK, "Find skills that can take over a piece of work"),
    "new": Entry(f"{_HERE}.skills.new", _AUTHOR, "Make a new skill"),
    "install": Entry(f"{_HERE}.skills.install", _AUTHOR, "Put bundled skills where agents look for them"),
    "uninstall": Entry(f"{_HERE}.skills.uninstall", _AUTHOR, "Take away what `flow install` wrote"),
    "hook": Entry(f"{_HERE}.hook", _AUTHOR, "Answer the hooks of an agent's host, and set them up"),
    "mcp": Entry(
        f"{_HERE}.setup.mcp", _AUTHOR, "Serve the same verbs as tools of the Model Context Protocol"
    ),
    "schema": Entry(f"{_HERE}.skills.schema", _AUTHOR, "Print the JSON Schema of a document"),
    "trust": Entry(f"{_HERE}.skills.trust", _AUTHOR, "Allow a project's skill to run"),
    "untrust": Entry(f"{_HERE}.skills.untrust", _AUTHOR, "Take back what `flow trust` allowed"),
    "registry": Entry(f"{_HERE}.setup.registry", _AUTHOR, "Show, sync or check the registry of workflows"),
    "doctor": Entry(f"{_HERE}.setup.doctor", _AUTHOR, "Examine the whole set-up and say what to fix"),
}

GUIDE = """Keep an agent on the rails of a procedure.

\b
A skill's procedure is a workflow: steps, and ways on keyed by outcome.
  flow list                      which procedures there are
  flow step SKILL                start one, or show the current step again
  flow step SKILL ok …           report how the step went, get the next

Every answer prints the complete commands that go on from there: run one of
them as it is. Sessions are files in .flow; nothing is lost when a process dies.

Exit status: 0 done, 1 failed, 2 wrong use, 3 storage, 4 conflict, 5 the
definition changed, 6 handoff refused, 7 not trusted.
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
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Show the version and exit.",
            )
        ],
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. What is no refusal of ours is a bug and raises."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with streams.answering():
            return _run(words)
    except streams.AnswerLostError as error:
        from flowrail.cli.output import refuse

        return refuse(error, as_json=False)


def _run(words: list[str]) -> int:
    if "_FLOW_COMPLETE" in os.environ:
        from flowrail.cli import bash

        bash.register()
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
    from flowrail.cli.output import refuse

    if isinstance(error.hint, Hint):
        with suppress(OSError):  # the current folder may be gone
            error.hint = error.hint.with_store(_named_store(words))
    as_json = "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)
    return refuse(error, as_json=as_json)


def _named_store(words: Sequence[str]) -> str | None:
    """Return the store that the command line or the environment names."""
    named = next((value for option, value in pairwise(words) if option == "--store"), None)
    named = named or next((word.partition("=")[2] for word in words if word.startswith("--store=")), None)
    named = named or os.environ.get("FLOW_STORE")
    return os.path.abspath(named) if named else None


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
