"""Help teaches, and says the same wherever it stands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest
from support.sandbox import flow

from flowrail.cli.command_table import COMMANDS, Entry, LazyGroup
from flowrail.hosts.protocol import EVENTS


def commands(name: str) -> Iterator[tuple[tuple[str, ...], Entry | None, click.Command]]:
    """Yield a command and those below it by their words, with their lines in a table of ours."""
    yield from _below((name,), COMMANDS[name], COMMANDS[name].load(name))


def _below(
    words: tuple[str, ...], entry: Entry | None, command: click.Command
) -> Iterator[tuple[tuple[str, ...], Entry | None, click.Command]]:
    yield words, entry, command
    if isinstance(command, click.Group):
        table = command.table if isinstance(command, LazyGroup) else {}
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _below((*words, name), table.get(name), inner)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    for words, entry, command in commands(name):
        first = (command.help or "").splitlines()[0]
        assert first
        assert entry is None or entry.help == first, words
        assert not first.endswith("."), words
        assert first[0].isupper(), words


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_its_use_and_all_its_options(name: str) -> None:
    for words, _, command in commands(name):
        for flag in ("--help", "-h"):
            ran = flow(*words, flag)
            assert (ran.status, ran.err) == (0, "")
            assert ran.out.startswith(f"Usage: flow {' '.join(words)} ")
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.help, (words, param.name)
                assert param.help.endswith("."), (words, param.name)
                assert param.opts[-1] in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_people_type_shows_itself_in_use(name: str) -> None:
    for words, _, command in commands(name):
        if isinstance(command, click.Group) or (words[0] == "hook" and words[1] in EVENTS):
            continue
        lines = [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]
        assert lines, words
        for line in lines:
            said = shlex.split(line)
            assert said[: len(words) + 1] == ["flow", *words]
            command.make_context(words[-1], said[len(words) + 1 :])  # refuses what the command does not take
        assert f"\n  Example{'s' * (len(lines) > 1)}:\n    {lines[0]}\n" in flow(*words, "--help").out


def test_the_help_names_every_command_and_fits_a_terminal_of_40_lines() -> None:
    out = flow("--help").out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    words = set(out.split())

    for name, entry in COMMANDS.items():
        if entry.section == "Every day":
            assert any(line.startswith(f"{name} {entry.help[:20]}") for line in lines), name
        assert name in words, name
    assert len(lines) <= 40


def test_the_help_teaches_how_to_begin_and_what_ends_mean() -> None:
    out = flow("--help").out

    assert out.startswith("Usage: flow ")
    for words in (
        "flow list",
        "flow step SKILL",
        "Exit status: 0 done, 1 failed, 2 wrong use, 3 storage, 4 conflict, 5 the",
    ):
        assert words in out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal(name: str) -> None:
    for words, _, _ in commands(name):
        assert max(map(len, flow(*words, "--help").out.splitlines())) <= 80, words
