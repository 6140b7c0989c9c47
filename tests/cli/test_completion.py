"""Shell completion runs nothing and prints no error."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from support.sandbox import (
    ASKING,
    BUNDLED,
    HANDLER,
    SMALL,
    Ran,
    home_skills,
    process,
    put_python,
    put_skill,
    told,
)

from flowrail.cli.main import COMMANDS, main


def completed(line: str) -> list[str]:
    """Return what bash would offer at the end of *line*."""
    ran = completion(line)
    assert (ran.status, ran.err) == (0, "")
    return [word.partition(",")[2] for word in ran.out.splitlines() if word]


def completion(line: str) -> Ran:
    asked = {
        "_FLOW_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with (
        patch.dict("os.environ", asked),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main([])
    out.flush()
    out.seek(0)
    return Ran(int(ended.value.code or 0), out.read(), err.getvalue())


@pytest.fixture(autouse=True)
def skills() -> None:
    put_skill("small", texts={"workflows/look.yaml": SMALL.replace("NAME", "NAME/look")})
    put_skill("asking", ASKING)


def test_commands_are_completed() -> None:
    assert completed("flow ") == list(COMMANDS)
    assert completed("flow st") == [name for name in COMMANDS if name.startswith("st")]


def test_skills_are_completed() -> None:
    names = ["asking", "small", "small/look"]
    for command in (
        "step",
        "show",
        "diagram",
        "trust",
        "check",
    ):
        offered = completed(f"flow {command} ")
        assert {word.partition("/")[0] for word in offered} == {*BUNDLED, "asking", "small"}
        assert [word for word in offered if word in names] == names
    assert completed("flow step sm") == ["small", "small/look"]
    assert completed("flow check small as") == ["asking"]


def test_steps_are_completed() -> None:
    assert completed("flow show asking ") == ["look", "tell"]
    assert completed("flow show problem-analysis h") == ["hypothesize"]
    assert completed("flow show nosuch ") == []


def test_sessions_are_completed() -> None:
    small, asking = told("step", "small")["session"], told("step", "asking")["session"]

    for command in ("resume", "sessions", "session abandon"):
        assert completed(f"flow {command} ") == sorted([small, asking])
    assert small in completed("flow step small ok --session ")
    assert completed("flow resume x") == []


def test_outcomes_that_are_open_are_completed() -> None:
    everything = ["ok", "fail", "skip", "iterate", "done"]
    assert completed("flow step small ") == everything

    first = told("step", "small")["session"]
    assert completed("flow step small ") == ["ok", "fail"]
    told("step", "asking")
    assert completed("flow step asking ") == ["done"]
    told("step", "small", "ok")
    assert completed("flow step small ") == ["ok", "skip"]
    told("step", "small", "--new")
    assert completed("flow step small ") == everything
    assert completed(f"flow step --session {first} small s") == ["skip"]
    told("step", "small", "ok", "--session", first)
    assert completed(f"flow step --session {first} small ") == []
    assert completed("flow step small ") == ["ok", "fail"]


def test_completion_runs_nothing() -> None:
    canary = Path.cwd() / "canary"
    folder = put_python("py", where=home_skills())
    told("step", "py")
    plain = put_skill("plain", where=home_skills())
    told("step", "plain")
    (plain / "workflow.yaml").rename(plain / "workflow.py")
    for root in (folder, plain):
        (root / "workflow.py").write_text(f"open({str(canary)!r}, 'w').close()\n{HANDLER}")

    for line in ("flow step ", "flow step py ", "flow show py ", "flow step plain ", "flow resume "):
        completed(line)

    assert not canary.exists()
    assert completed("flow step py ") == ["ok", "fail", "skip", "iterate", "done"]
    assert completed("flow step plain ") == ["ok", "fail"]


@pytest.mark.parametrize(
    "line",
    [
        "flow nosuch ",
        "flow nosuch --x ",
        "flow step nosuch ",
        "flow step --store /dev/null small ",
        "flow resume ../",
    ],
)
def test_mistakes_are_not_told_while_typing(line: str) -> None:
    completed(line)


@pytest.mark.parametrize(
    "name", ["a;id", "$(id)", "a`id`", "two words", "a\nplain,b", "*", "e\u202ex", "a\x1b[2J"]
)
def test_no_word_is_offered_that_a_shell_would_read_as_more(name: str) -> None:
    step = {"id": name, "title": "A", "actions": ["Do."], "next": {"ok": None}}
    texts = {f"workflows/{name}.yaml": SMALL.replace("NAME", "NAME/look")}
    put_skill("small", json.dumps({"name": "small", "steps": [step, {**step, "id": "last"}]}), texts=texts)

    assert completed("flow show small ") == ["last"]
    assert completed("flow step small") == ["small", "small/look"]


def test_a_real_shell_is_given_its_words() -> None:
    ran = process(env={"_FLOW_COMPLETE": "zsh_complete", "COMP_WORDS": "flow step sm", "COMP_CWORD": "2"})
    assert ran == Ran(0, "plain\nsmall\n_\nplain\nsmall/look\n_\n", "")
