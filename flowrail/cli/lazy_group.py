"""A click group that imports only the command it runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from flowrail.errors import UsageError
from flowrail.text.phrases import did_you_mean


class Entry(NamedTuple):
    """One command: `module:function` in `cli.commands`, its section in the help, its one-line help.

    A group has a table of its own instead of a function, and more lines of help.
    """

    target: str
    section: str
    help: str
    commands: Mapping[str, Entry] = {}
    more_help: str = ""

    def load(self, name: str) -> click.Command:
        """Import the command, or make the group."""
        if self.commands:
            return LazyGroup(name=name, help=f"{self.help}\n{self.more_help}", table=self.commands)
        module, _, function = self.target.partition(":")
        command: click.Command = getattr(import_module(f"flowrail.cli.commands.{module}"), function)
        return command


class UnknownCommandError(UsageError):
    """The command does not exist."""

    code = "UNKNOWN_COMMAND"


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
            raise UnknownCommandError(
                f"unknown command `{path} {name[:80]}`",
                hint=did_you_mean(name[:80], self.table, f"`{path} --help` lists them"),
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
