"""The command line: the table of commands as click commands, and running one."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import Any, NoReturn

import click

from flowrail import __version__
from flowrail.cli import output
from flowrail.command import Hint
from flowrail.command_table import AGENTS, COMMANDS, OCCASIONALLY, WITH_STORE, CommandEntry
from flowrail.errors import ExtraMissingError, FlowError, UsageError, require_extra
from flowrail.text.phrases import near
from flowrail.text.unknown_names import unknown

LONGEST_QUOTED = 200
"""Characters of an argument that a refusal shows."""
GUIDE = """Make an agent follow a procedure, step by step.

\b
A skill's procedure is a workflow: steps, and the next step for each outcome.
  flow list                      list the skills
  flow step SKILL                start a session, or show its current step
  flow step SKILL ok …           report the outcome and get the next step

Exit status: 0 done, 1 failed, 2 usage error, 3 storage, 4 conflict, 5 the
definition changed, 6 handoff refused, 7 not approved.
"""


def group() -> click.Group:
    """Return the command line as one click group."""
    made = LazyGroup(
        name="flow",
        help=GUIDE,
        table=COMMANDS,
        names_only=(AGENTS, OCCASIONALLY),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return click.version_option(__version__, message="flow %(version)s")(made)


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
            error.hint = error.hint.with_store(_named_store(words), WITH_STORE)
    error.message = _without_long(error.message, words)
    error.hint = _without_long(str(error.hint), words)
    if list(words[:1]) == ["handoff"] and not error.beside:
        error.beside = {"recoverable": True, "payload_preserved": None}  # as in every error of a handoff
    as_json = "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)
    return output.refuse(error, as_json=as_json)


def _without_long(text: str, words: Sequence[str]) -> str:
    """Return *text* with at most the first characters of each argument that it quotes."""
    for word in words:
        for value in (word, *word.partition("=")[::2]):
            if len(value) > LONGEST_QUOTED:
                text = text.replace(value, f"{value[:LONGEST_QUOTED]}…")
    return text


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
    usual = f"see `{path} --help`"
    if isinstance(error, click.NoSuchOption):
        return UsageError(
            f"`{path}` has no option `{error.option_name}`",
            code="WRONG_USE",
            hint=_meant_option(error, path) or usual,
            option=error.option_name,
        )
    message = error.format_message().rstrip(".")
    return UsageError(f"{message[:1].lower()}{message[1:]}", code="WRONG_USE", hint=usual)


def _meant_option(error: click.NoSuchOption, path: str) -> str:
    """Return what may have been meant by an unknown option of the command at *path*: another option, or a fact."""
    written = error.option_name.lstrip("-")
    params = error.ctx.command.params if error.ctx is not None else ()
    known = [option[2:] for param in params for option in param.opts if option.startswith("--")]
    hints = [f"did you mean `--{option}`?" for option in near(written, known)[:1]]
    fact = written.replace("-", "_")
    if path == "flow step" and fact.isidentifier():
        first = "A" if hints else "a"
        hints.append(f"{first} fact is given as `-s {fact}=VALUE`, a parameter as `-p {fact}=VALUE`")
    return " ".join(hints)


def load(name: str, entry: CommandEntry) -> click.Command:
    """Import a command, or make a group."""
    if entry.commands:
        return LazyGroup(name=name, help=f"{entry.help}\n{entry.more_help}", table=entry.commands)
    if entry.extra:
        try:
            require_extra(*entry.extra)
        except ExtraMissingError as error:
            return _refusing(name, entry, error)
    if entry.module.startswith("cli."):
        module = import_module(f"flowrail.{entry.module}")
        command: click.Command = getattr(module, f"{name}_command")
        return command
    build = import_module("flowrail.cli.operation_command")
    made: click.Command = build.command_of(build.load_operation(entry.module, name))
    return made


def _refusing(name: str, entry: CommandEntry, error: ExtraMissingError) -> click.Command:
    """Return a command that has help and can be completed like any other, and raises *error* if it is run."""

    def refuse(**_: object) -> NoReturn:
        raise error

    return click.Command(
        name,
        callback=refuse,
        help=f"{entry.help}\n\nNeeds an extra of flowrail: {error.hint}",
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar="...")],
        context_settings={"ignore_unknown_options": True},
    )


class LazyGroup(click.Group):
    """Commands by name, each imported when it is asked for."""

    def __init__(
        self, *args: Any, table: Mapping[str, CommandEntry], names_only: Collection[str] = (), **kwargs: Any
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
        return None if entry is None else load(cmd_name, entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* begin with; refuse an unknown name and suggest similar ones."""
        name = args[0]
        if name not in self.table and not name.startswith("-") and not ctx.resilient_parsing:
            path = ctx.command_path
            usual = f"`{path} --help` lists them"
            raise unknown(f"`{path}` command", name, self.table, code="UNKNOWN_COMMAND", otherwise=usual)
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
