"""Commands in hints name the store that was meant."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click
import pytest
from support.sandbox import flow, put_skill, refused, told

from flowrail.cli.hints import OF_A_STORE, in_store, store_of
from flowrail.cli.main import group


def test_the_commands_of_a_store_are_those_that_take_one() -> None:
    flow_group = group()
    context = click.Context(flow_group)

    taking = {
        name
        for name in flow_group.list_commands(context)
        if (command := flow_group.get_command(context, name)) and takes_a_store(command)
    }

    assert taking >= OF_A_STORE
    assert len(taking - OF_A_STORE) < 5, "a new command that hints name belongs into the list"


def takes_a_store(command: click.Command) -> bool:
    if isinstance(command, click.Group):
        inner = (
            command.get_command(click.Context(command), name)
            for name in command.list_commands(click.Context(command))
        )
        return any(each is not None and takes_a_store(each) for each in inner)
    return any("--store" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("look at what changed: flow migrate a-bcdefg --plan", "… flow migrate a-bcdefg --plan --store /s"),
        (
            "`flow history a` tells; `flow start b` starts",
            "`flow history a --store /s` tells; `flow start b --store /s` …",
        ),
        ("name it: flow resume a --store /t", "name it: flow resume a --store /t"),
        ("`flow list` shows more", "`flow list` shows more"),
        ("the workflow may overflow step by step", "the workflow may overflow step by step"),
        ("wait", "wait"),
        ("`flow handoff --help` lists them", "`flow handoff --help` lists them"),
    ],
)
def test_a_command_gets_the_store_once(hint: str, expected: str) -> None:
    completed = in_store(hint, "/s")

    assert completed.startswith(expected.partition("…")[0])
    assert completed.endswith(expected.rpartition("…")[2])
    assert completed.count("--store") == expected.count("--store")
    assert in_store(hint, None) == hint
    assert in_store(completed, "/s") == completed


@pytest.mark.parametrize(
    "value",
    ["see `flow step demo ok`", "--store /t", "it's `flow resume a`", "' `flow step x", "a\nflow step b"],
)
def test_what_stands_in_quotes_of_a_shell_is_no_command_of_ours(value: str) -> None:
    words = ["flow", "start", "demo", "-p", f"topic={value}"]

    for hint, end in (
        (f"leave it out, or begin another: {shlex.join(words)}", ""),
        (
            f"`{shlex.join(words)}` begins another, `flow list` shows all",
            "` begins another, `flow list` shows all",
        ),
    ):
        completed = in_store(hint, "/s")
        assert shlex.split(completed[hint.index("flow ") :].removesuffix(end)) == [*words, "--store", "/s"]
    looked = f"look: flow preview demo one -p {shlex.quote(value)}"
    assert in_store(looked, "/s") == looked


def test_a_store_is_quoted_for_a_shell() -> None:
    assert shlex.split(in_store("flow resume a", "/it's one"))[-1] == "/it's one"


@pytest.mark.parametrize(
    ("words", "environ", "expected"),
    [
        (["step", "--store", "x"], {}, "x"),
        (["step", "--store=x"], {"FLOW_STORE": "y"}, "x"),
        (["step"], {"FLOW_STORE": "y"}, "y"),
        (["step"], {"FLOW_STORE": ""}, None),
        (["step", "--store"], {}, None),
    ],
)
def test_the_store_is_the_one_that_was_named(
    words: list[str], environ: dict[str, str], expected: str | None
) -> None:
    assert store_of(words, environ) == (expected and os.path.abspath(expected))


def test_refusals_from_deep_inside_name_the_store() -> None:
    folder = put_skill("small")
    store = Path.cwd() / "elsewhere"
    here = told("step", "small", "--store", "elsewhere")
    session, first = here["session"], ["step", "small", "--store", "elsewhere"]
    done = told("start", "small", "--store", "elsewhere")["session"]
    told("step", "small", "fail", "--session", done, "--store", "elsewhere")

    (folder / "workflow.yaml").write_text((folder / "workflow.yaml").read_text().replace("first", "begin"))
    gone = refused(*first, "ok", "--session", session)
    needs = refused("migrate", session, "--store", "elsewhere")
    ended = refused(*first, "ok", "--session", done)
    unknown = refused("resume", "nothing-of-that-name-222222", "--store", "elsewhere")
    never = refused("rewind", session, "--to", "9", "--store", "elsewhere")

    for status, error in (gone, needs, ended, unknown, never):
        assert status in {2, 4, 5}
        assert f"--store {store}" in error["hint"], error
    assert flow(*gone[1]["hint"].partition("flow ")[2].replace("STEP", "begin").split()).status == 0


def test_a_folder_that_is_gone_leaves_a_hint_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    ran = flow("resume", "--store", "x")

    assert (ran.status, ran.err) == (
        2,
        "flow: the current folder is gone [USAGE]\n  change to one that exists\n",
    )


@pytest.mark.parametrize("words", [["preview"], ["step", "-s", "a=b"]])
def test_a_skill_that_is_none_is_quoted_in_the_command_that_is_hinted(words: list[str]) -> None:
    hint = refused(*words, "a; x")[1]["hint"]

    assert f"flow {words[0]} 'a; x' " in hint


def test_the_place_of_a_new_skill_is_quoted_in_the_commands_that_look_at_it() -> None:
    ran = flow("new", "one", "--dir", "my; skills")

    assert "check it: flow check 'my; skills/one'\n" in ran.out
    assert "test it: flow test 'my; skills/one'\n" in ran.out
    python = flow("new", "two", "--dir", "my; skills", "--python")
    assert "test it: python3 'my; skills/two/tests/test_two.py'\n" in python.out


def test_a_folder_that_is_no_name_stands_in_no_command_that_its_card_lacks() -> None:
    put_skill("a; x", texts={"SKILL.md": "---\nname: x\ndescription: x\n---\n"})

    assert "show how it starts: `flow step NAME`" in flow("check", ".claude/skills/a; x").out


def test_a_page_is_quoted_in_the_command_that_draws_into_it() -> None:
    Path("a; x.md").write_text("<!-- flow:diagram -->\n<!-- /flow:diagram -->\n")

    assert refused("diagram", "--inject", "a; x.md")[1]["hint"].endswith(" SKILL --inject 'a; x.md'")
