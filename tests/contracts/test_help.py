"""Help teaches, and says the same wherever it stands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest
from support.sandbox import flow, put_skill, told

from flowrail.cli.main import COMMANDS, Entry, LazyGroup
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


WITHOUT_JSON: dict[tuple[str, ...], str] = {
    **dict.fromkeys((("hook", event) for event in EVENTS), "its input and output are the JSON of a host"),
    ("ui",): "runs until Ctrl+C and prints one address",
    ("mcp",): "speaks the protocol",
    ("fleet", "worker"): "runs until Ctrl+C",
    ("completion",): "prints a script",
    ("help",): "prints help",
}
"""Commands whose answer cannot be one JSON document, with the reason."""
WITHOUT_FORMAT = {
    ("skill", "schema"): "a schema is JSON",
    ("session", "trace"): "a trace is JSON",
}
READS_OF_A_SESSION = {
    *(("status",), ("resume",), ("history",), ("watch",), ("attest",), ("session", "verify")),
    *(("evidence", "show"), ("finding", "list"), ("skill", "record")),
}
"""Commands that only show a session. Those that change it, or that the id of something else follows, need its id."""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json_format_and_colour_if_it_can(name: str) -> None:
    for words, _, command in commands(name):
        if isinstance(command, click.Group):
            continue
        flags = {option for param in command.params for option in param.opts}
        assert ("--json" in flags) is (words not in WITHOUT_JSON), words
        if words not in {*WITHOUT_JSON, *WITHOUT_FORMAT}:
            assert flags >= {"--format", "--color"}, words


@pytest.mark.parametrize("words", sorted(READS_OF_A_SESSION))
def test_the_id_of_a_session_that_is_only_shown_may_be_left_out(words: tuple[str, ...]) -> None:
    command = next(command for each, _, command in commands(words[0]) if each == words)

    (session,) = (param for param in command.params if param.name == "session_id")

    assert not session.required


def test_a_session_is_shown_without_its_id_if_only_one_is_open() -> None:
    put_skill("small")
    session = told("start", "small")["session"]

    assert told("history") == told("history", session)
    assert told("finding", "list") == {"findings": []}
    assert flow("evidence", "show").out == "step first demands no evidence\n"
    assert flow("skill", "record").out == flow("skill", "record", session).out
    assert flow("attest").status == 0


@pytest.mark.parametrize("options", [["--json"], ["--format", "json"], ["--format=json"]])
def test_both_spellings_of_json_give_the_same_answer(options: list[str]) -> None:
    put_skill("small")

    assert flow("list", *options).data == told("list")
    assert flow("list", "--format", "text").out == flow("list").out
