"""The one error boundary: every refusal has the same form and its documented exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from support.sandbox import ENTRY, Ran, flow, process, put_skill, refused

from flowrail.cli.main import group, main


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["stp"], "did you mean `step`"),
        (["zzz"], "`flow --help` lists them"),
    ],
)
def test_an_unknown_command_is_refused_with_near_ones(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, (out, err) = main(words), capsys.readouterr()
    main([*words, "--json"])
    error = json.loads(capsys.readouterr().out)["error"]

    assert (status, error["code"]) == (2, "UNKNOWN_COMMAND")
    assert error["message"] == f"unknown `flow` command `{words[0]}`"
    assert hint in error["hint"]
    assert out == ""
    assert err.startswith(f"flow: unknown `flow` command `{words[0]}` [UNKNOWN_COMMAND]\n  ")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["step", "x", "--sesion", "y"], "`flow step` has no option `--sesion`", "did you mean `--session`"),
        (
            ["step", "x", "ok", "--failures", "3"],
            "`flow step` has no option `--failures`",
            "a fact is given as `-s failures=VALUE`",
        ),
        (["--versio"], "`flow` has no option `--versio`", "did you mean `--version`?"),
        (["show"], "missing argument 'SKILL'", "see `flow show --help`"),
        (["step", "a", "b", "c"], "got unexpected extra argument (c)", "see `flow step --help`"),
        (
            ["step", "a", "ok", "--expect", "-1"],
            "invalid value for '--expect': -1 is not in the range x>=0",
            "see `flow step --help`",
        ),
    ],
)
def test_wrong_use_is_refused_with_what_to_do(words: list[str], message: str, hint: str) -> None:
    ran = flow(*words)

    assert ran.status == 2
    assert ran.err.startswith(f"flow: {message} [WRONG_USE]\n  {hint}")
    error = refused(*words)[1]
    assert (error["code"], error["message"]) == ("WRONG_USE", message)
    assert error["hint"].startswith(hint)


def test_a_shell_completes_commands_and_options() -> None:
    asked = {"_FLOW_COMPLETE": "bash_complete", "COMP_WORDS": "flow st", "COMP_CWORD": "1"}

    commands = process(env=asked)
    options = process(env=asked | {"COMP_WORDS": "flow step --ex", "COMP_CWORD": "2"})

    assert commands == Ran(0, "plain,step\nplain,store\n", "")
    assert options == Ran(0, "plain,--expect\n", "")


def test_it_says_so_where_it_does_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from flowrail.__main__ import main as entry

    monkeypatch.setattr("sys.platform", "win32")

    assert entry() == 2
    assert "not on Windows" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupted_command_says_so_by_its_status(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def look(*_: object) -> Any:
        raise error

    monkeypatch.setattr("flowrail.operations.skills.list.all_skills", look)

    ran = flow("list")
    assert (ran.status, ran.out, ran.err.strip()) == (130, "", "")


def test_a_reader_that_has_gone_is_no_error() -> None:
    ends = os.pipe()
    os.close(ends[0])

    done = subprocess.run(
        [sys.executable, "-c", ENTRY, "show", "problem-analysis"],
        stdout=ends[1],
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(ends[1])

    assert (done.returncode, done.stderr) == (0, b"")


def test_output_in_a_plain_locale_does_not_break() -> None:
    put_skill("small")

    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = process("step", "small", "--format", "text", env=plain)

    assert ran.status == 0, ran.err
    assert "small · step 1 of 2 · First" in ran.out


@pytest.mark.parametrize("form", ["xml", "json", "text"])
def test_arguments_that_are_no_text_do_not_break_the_answer(form: str) -> None:
    words = [b"step", b"problem-analysis", b"-p", b"topic=\xff", b"--format", form.encode()]

    done = subprocess.run(
        [sys.executable.encode(), b"-c", ENTRY.encode(), *words], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
    if form == "json":
        assert json.loads(done.stdout)["params"]["topic"] == "\udcff"


def test_without_its_extra_a_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    ran = flow("fleet", "worker", "--program", "claude")
    explained = flow("fleet", "worker", "--help")

    assert ran.status == 2
    assert "[EXTRA_MISSING]" in ran.err
    assert "pip install 'flowrail[fleet]'" in ran.err
    assert explained.status == 0
    assert "Run headless agents" in explained.out
    assert "pip install 'flowrail[fleet]'" in explained.out


def test_a_shell_completes_a_command_whose_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    words = ShellComplete(group(), {}, "flow", "_FLOW_COMPLETE").get_completions([], "u")

    assert [word.value for word in words] == ["ui"]
