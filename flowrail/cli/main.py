"""The command line: every command, with its section in the help and its one-line help, and running one.

A command's module is imported when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import click

from flowrail import __version__
from flowrail.cli import output
from flowrail.command import Command, Hint
from flowrail.errors import ExtraMissingError, FlowError, UsageError, require_extra
from flowrail.text.phrases import did_you_mean

GUIDE = """Make an agent follow a procedure, step by step.

\b
A skill's procedure is a workflow: steps, and the next step for each outcome.
  flow list                      list the skills
  flow step SKILL                start a session, or show its current step
  flow step SKILL ok …           report the outcome and get the next step

Exit status: 0 done, 1 failed, 2 wrong use, 3 storage, 4 conflict, 5 the
definition changed, 6 handoff refused, 7 not approved.
"""


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
            output.color_option(),
        ],
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Any error that is not a `FlowError` is a bug and raises."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with output.answering():
            return _run(words)
    except output.AnswerLostError as error:
        return _refused(error, [])


def _run(words: list[str]) -> int:
    try:
        result = group().main(args=words, prog_name="flow", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except output.AnswerLostError:
        raise
    except click.exceptions.NoArgsIsHelpError as error:
        output.tell(f"{error.format_message()}\n")
        return UsageError.exit_status
    except (FlowError, click.UsageError) as error:
        return _refused(error, words)
    except (KeyboardInterrupt, click.Abort):
        return 130
    except OSError:
        output.put("")  # raises where standard output is what failed: help is written by click
        raise


def _refused(error: FlowError | click.UsageError, words: Sequence[str]) -> int:
    """Print why the command line *words* was refused, and return the exit status."""
    if isinstance(error, click.UsageError):
        error = _wrong_use(error, words)
    if isinstance(error.hint, Hint):
        with suppress(OSError):  # the current folder may be gone
            error.hint = error.hint.with_store(_named_store(words))
    if list(words[:1]) == ["handoff"] and not error.beside:
        error.beside = {"recoverable": True, "payload_preserved": None}  # as in every error of a handoff
    as_json = "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)
    return output.refuse(error, as_json=as_json)


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
    meant = (
        f"did you mean {', '.join(f'`{option}`' for option in near[:3])}?" if near else f"see `{path} --help`"
    )
    if isinstance(error, click.NoSuchOption):
        return UsageError(
            f"`{path}` has no option `{error.option_name}`",
            code="WRONG_USE",
            hint=meant,
            option=error.option_name,
        )
    message = error.format_message().rstrip(".")
    return UsageError(f"{message[:1].lower()}{message[1:]}", code="WRONG_USE", hint=meant)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"flow {__version__}")
        ctx.exit()


class Entry(NamedTuple):
    """One command: its module, its section in the help, its one-line help.

    The module is one of `cli.commands`, or with a dot in its name one of flowrail that defines an operation. A group
    has a table of its own instead of a module, and more lines of help. *extra* names the extra of flowrail that a command
    or all commands of a group need, and the packages that it installs.
    """

    module: str
    section: str
    help: str
    commands: Mapping[str, Entry] = {}
    more_help: str = ""
    extra: tuple[str, ...] = ()

    def load(self, name: str) -> click.Command:
        """Import the command, or make the group."""
        if self.commands:
            table = {inner: entry._replace(extra=self.extra) for inner, entry in self.commands.items()}
            return LazyGroup(name=name, help=f"{self.help}\n{self.more_help}", table=table)
        if self.extra:
            try:
                require_extra(*self.extra)
            except ExtraMissingError as error:
                return _refusing(name, self.help, error)
        if "." in self.module:
            build = import_module("flowrail.cli.operation_command")
            made: click.Command = build.command_in(f"flowrail.{self.module}", name)
            return made
        module = import_module(f"flowrail.cli.commands.{self.module}")
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command


def _refusing(name: str, about: str, error: ExtraMissingError) -> click.Command:
    """Return a command whose extra is missing: its help says what to install, and running it is refused."""

    def refuse(words: tuple[str, ...]) -> None:
        del words
        raise error

    words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar="...")
    return click.Command(
        name,
        callback=refuse,
        params=[words],
        help=f"{about}\n\nThe command needs an extra: {error.hint}",
        context_settings={"ignore_unknown_options": True},
    )


class LazyGroup(click.Group):
    """Commands by name, each imported when it is asked for."""

    def __init__(
        self, *args: Any, table: Mapping[str, Entry], names_only: Collection[str] = (), **kwargs: Any
    ) -> None:
        """*names_only* are the sections whose commands are listed without what they do."""
        super().__init__(*args, **kwargs)
        self.table = table
        self._names_only = names_only

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        del ctx
        entry = self.table.get(cmd_name)
        return entry and entry.load(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* begin with; refuse an unknown name and suggest similar ones."""
        name = args[0]
        if name not in self.table and not name.startswith("-") and not ctx.resilient_parsing:
            path = ctx.command_path
            hint: str | Hint = did_you_mean(name[:80], self.table, f"`{path} --help` lists them")
            if name == "start" and "step" in self.table:
                words = args[1:2] if args[1:2] and not args[1].startswith("-") else ["SKILL"]
                hint = Hint("a session starts with ", Command("step", *words, "--new"))
            raise UsageError(
                f"unknown command `{path} {name[:80]}`",
                code="UNKNOWN_COMMAND",
                hint=hint,
                command=name[:80],
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, without importing any."""
        del ctx
        width = max(len(name) for name, entry in self.table.items() if entry.section not in self._names_only)
        for section in dict.fromkeys(entry.section for entry in self.table.values()):
            entries = {name: entry for name, entry in self.table.items() if entry.section == section}
            with formatter.section(section):
                if section in self._names_only:
                    formatter.write_text("  ".join(entries))
                else:
                    formatter.write_dl([(name.ljust(width), entry.help) for name, entry in entries.items()])


_RUNNING = "operations.running.agent_commands"
_FINDING = {
    "add": Entry(_RUNNING, "Record", "Record one finding"),
    "none": Entry(_RUNNING, "Record", "Record that a review found nothing"),
    "list": Entry(_RUNNING, "Show and resolve", "List the recorded findings"),
    "resolve": Entry(_RUNNING, "Show and resolve", "Mark a finding as resolved"),
}
_FINDING_HELP = """
A review gate decides from the findings. Findings of a sub-agent's session count for the nearest
gate above it.
"""

_SEND, _RECEIVE, _PAYLOADS = "Hand off", "Take over", "Payloads"
_HANDOFF = {
    "send": Entry(
        "operations.handoffs.send", _SEND, "Hand the work of a session or a skill to another skill"
    ),
    "status": Entry(
        "operations.handoffs.status", _SEND, "Show the status of one handoff, or of all open ones"
    ),
    "cancel": Entry("operations.handoffs.send", _SEND, "Cancel a handoff"),
    "receive": Entry(
        "operations.handoffs.receive", _RECEIVE, "Check a payload, claim it and take over the work"
    ),
    "check": Entry(
        "operations.handoffs.check",
        _PAYLOADS,
        "List every problem of a payload, or print it in another version",
    ),
}
_HANDOFF_HELP = """
A payload is built from what a session or a skill reported, checked, written once and received once. The
lifecycle is recorded in .flow/handoffs; `flow audit` shows it.
"""

_CHANGE, _KEEP = "Change", "Keep"
_SESSION = {
    "rewind": Entry("operations.sessions.rewind", _CHANGE, "Take a session back to an earlier revision"),
    "migrate": Entry(
        "operations.sessions.migrate", _CHANGE, "Move a session to the newest definition of its workflow"
    ),
    "abandon": Entry("operations.sessions.abandon", _CHANGE, "End a session that will not be completed"),
    "prune": Entry("operations.sessions.prune", _KEEP, "Delete old sessions that have ended"),
}

_STORE = {
    "init": Entry("operations.stores", "Databases", "Create the tables of a store in a database"),
    "copy": Entry("operations.stores", "Databases", "Copy all sessions and handoffs to another store"),
}

_FLEET = {
    "run": Entry("fleet.commands", "Commands", "Start a session that workers run"),
    "worker": Entry("fleet.commands", "Commands", "Run headless agents for the sessions of the fleet"),
    "status": Entry("fleet.commands", "Commands", "Show workers, sessions and the newest jobs"),
}
_FLEET_HELP = """
Workers run headless agents, such as Claude Code or Codex, for sessions without a user present. On one machine this
needs no set-up. With a store in PostgreSQL, workers on many machines share the work.
"""

_REGISTRY = {
    "sync": Entry(
        "operations.registry", "Commands", "Update the registry from the skills in your home folder"
    ),
}
_REGISTRY_HELP = """
The registry is one optional file of the user. It adds what a skill cannot declare itself: priority,
notes, tags, workflows that are stored elsewhere.
"""

_AGENTS, _EVERY_DAY, _OCCASIONALLY = "For agents", "Every day", "Occasionally"
COMMANDS = {
    "step": Entry(_RUNNING, _AGENTS, "Show the current step, or report its outcome and show the next"),
    "resume": Entry(_RUNNING, _AGENTS, "Show the current step of a session again"),
    "run": Entry(
        "operations.running.commands", _AGENTS, "Run a command of the current step, or attach to it"
    ),
    "ask": Entry(_RUNNING, _AGENTS, "Ask the user an agent's questions"),
    "answer": Entry(_RUNNING, _AGENTS, "Record the user's answers and print the next command"),
    "finding": Entry("", _AGENTS, "Record, list and resolve findings of a review", _FINDING, _FINDING_HELP),
    "handoff": Entry("", _AGENTS, "Hand work from one skill to another", _HANDOFF, _HANDOFF_HELP),
    "setup": Entry("operations.setup", _EVERY_DAY, "Set up your agent's host: hooks, permissions, skills"),
    "list": Entry("operations.skills.list", _EVERY_DAY, "List the skills"),
    "show": Entry(
        "operations.skills.show",
        _EVERY_DAY,
        "Show a skill's steps, transitions and parameters, or what one step prints",
    ),
    "check": Entry("operations.skills.check", _EVERY_DAY, "Find errors in a workflow"),
    "test": Entry("testing.walks.run", _EVERY_DAY, "Walk through a workflow and check what its steps print"),
    "diagram": Entry("operations.skills.diagram", _EVERY_DAY, "Draw a workflow, or a session on it"),
    "discover": Entry("operations.discover", _EVERY_DAY, "Find skills that can take over a piece of work"),
    "new": Entry("operations.skills.new", _EVERY_DAY, "Create a skill"),
    "trust": Entry(
        "operations.skills.trust",
        _EVERY_DAY,
        "Approve a skill to run, or list what waits for approval",
    ),
    "sessions": Entry(
        "operations.sessions.listing", _EVERY_DAY, "List the open sessions, or show one with its history"
    ),
    "watch": Entry("watch", _EVERY_DAY, "Show live what all sessions do"),
    "ui": Entry(
        "ui",
        _EVERY_DAY,
        "Open a web page that shows all sessions live",
        extra=("web", "jinja2", "starlette", "uvicorn"),
    ),
    "audit": Entry(
        "operations.audit", _EVERY_DAY, "Show what happened in handoffs and sessions, or verify it"
    ),
    "doctor": Entry("operations.doctor", _EVERY_DAY, "Examine the whole set-up and say what to fix"),
    "session": Entry("", _OCCASIONALLY, "Change and delete sessions", _SESSION),
    "approve": Entry(
        "operations.running.evidence", _OCCASIONALLY, "Confirm a check that only a person can confirm"
    ),
    "waive": Entry(
        "operations.running.evidence", _OCCASIONALLY, "Continue without evidence, as a person at a terminal"
    ),
    "store": Entry("", _OCCASIONALLY, "Keep sessions in a database, or move them", _STORE),
    "fleet": Entry(
        "",
        _OCCASIONALLY,
        "Run sessions with headless agents",
        _FLEET,
        _FLEET_HELP,
        extra=("fleet", "dbos", "sqlalchemy", "psycopg"),
    ),
    "registry": Entry("", _OCCASIONALLY, "Update the registry of workflows", _REGISTRY, _REGISTRY_HELP),
    "hook": Entry("hooks.command", _OCCASIONALLY, "Answer an event of an agent's host: JSON in, JSON out"),
    "mcp": Entry(
        "mcp",
        _OCCASIONALLY,
        "Serve the commands as tools of the Model Context Protocol",
        extra=("mcp", "mcp", "mcp_types"),
    ),
    "explain": Entry(
        "operations.explanations",
        _OCCASIONALLY,
        "Explain the code of a finding or an error, or list the codes",
    ),
}
