"""Every command has complete help with a working example, and the common options."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest
from support.sandbox import flow

from flowrail.cli.main import LazyGroup, load
from flowrail.command_table import COMMANDS, CommandEntry

WITHOUT_JSON: dict[tuple[str, ...], str] = {
    ("ui",): "runs until Ctrl+C and prints one address",
    ("mcp",): "speaks the protocol",
}
"""Commands whose answer cannot be one JSON document, with the reason."""
WITHOUT_FORMAT = {("skill", "schema"): "a schema is JSON"}


def commands(
    words: tuple[str, ...], entry: CommandEntry | None, command: click.Command
) -> Iterator[tuple[tuple[str, ...], CommandEntry | None, click.Command]]:
    """Yield a command and those below it: their words, their entries in our tables, and the commands."""
    yield words, entry, command
    if isinstance(command, click.Group):
        table = command.table if isinstance(command, LazyGroup) else {}
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands((*words, name), table.get(name), inner)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_fits_a_terminal_and_examples_that_work(name: str) -> None:
    for words, entry, command in commands((name,), COMMANDS[name], load(name, COMMANDS[name])):
        help_text = flow(*words, "--help").out
        summary = (command.help or "").splitlines()[0]
        options = [param for param in command.params if isinstance(param, click.Option)]
        examples = [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]

        assert flow(*words, "-h").out == help_text
        assert help_text.startswith(f"Usage: flow {' '.join(words)} ")
        assert max(map(len, help_text.splitlines())) <= 80, words
        assert summary[0].isupper(), words
        assert not summary.endswith("."), words
        assert entry is None or entry.help == summary, words
        assert all(option.help and option.help.endswith(".") for option in options), words
        assert all(option.opts[-1] in help_text for option in options), words
        assert examples or isinstance(command, click.Group) or words in WITHOUT_JSON, words
        for example in examples:
            said = shlex.split(example)
            assert said[: len(words) + 1] == ["flow", *words]
            command.make_context(words[-1], said[len(words) + 1 :])  # refuses wrong arguments
            assert f"\n    {example}\n" in help_text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json_format_and_colour_if_it_can(name: str) -> None:
    for words, _, command in commands((name,), COMMANDS[name], load(name, COMMANDS[name])):
        if isinstance(command, click.Group):
            continue
        flags = {option for param in command.params for option in param.opts}
        assert ("--json" in flags) is (words not in WITHOUT_JSON), words
        if words not in {*WITHOUT_JSON, *WITHOUT_FORMAT}:
            assert flags >= {"--format", "--color"}, words


def test_there_are_at_most_50_commands_with_115_options_of_their_own() -> None:
    shared = {"--format", "--json", "--color", "--store", "--root", "--help"}
    found = [
        command
        for name, entry in COMMANDS.items()
        for _, _, command in commands((name,), entry, load(name, entry))
        if not isinstance(command, click.Group)
    ]
    own = [
        option
        for command in found
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden and not shared & {*option.opts}
    ]

    assert len(found) <= 50
    assert len(own) <= 115


def test_the_help_names_every_command_and_fits_a_terminal_of_40_lines() -> None:
    out = flow("--help").out
    lines = [" ".join(line.split()) for line in out.splitlines()]

    assert len(lines) <= 40
    assert set(COMMANDS) <= set(out.split())
    for name, entry in COMMANDS.items():
        if entry.section == "Every day":
            assert any(line.startswith(f"{name} {entry.help[:20]}") for line in lines), name
    for text in ("flow list", "flow step SKILL", "Exit status: 0 done, 1 failed, 2 usage error, 3 storage"):
        assert text in out
