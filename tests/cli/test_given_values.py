"""Values that agents and people type: paths made of facts, empty ids, long arguments, unknown options, Ctrl+C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.sandbox import allow, flow, put_skill, refused, told

WORKFLOW = """\
name: NAME
steps:
  - id: write
    title: Write
    actions: [Write it.]
    reports: {name: {type: string}, level: {type: string}}
    commands: {hello: {run: [echo, hello]}}
    evidence: {ok: [{id: page, file: out/$name.md}]}
    next: {ok: null, fail: null}
"""


@pytest.fixture
def session() -> str:
    put_skill("given", WORKFLOW)
    begun: str = told("step", "given")["session"]
    return begun


@pytest.mark.parametrize("name", ["../elsewhere", "a/../../elsewhere", "../out2/../elsewhere"])
def test_a_fact_in_a_path_stays_in_the_folder_that_is_written_before_it(session: str, name: str) -> None:
    Path("out2").mkdir()
    Path("out").mkdir()
    Path("elsewhere.md").write_text("there before")

    status, error = refused("step", "given", "ok", "-s", f"name={name}")

    assert (status, error["code"]) == (4, "EVIDENCE_MISSING")
    assert f"out/{name}.md is not a path in out" in error["message"]
    assert told("resume", session)["revision"] == 0


def test_an_unknown_option_says_how_a_fact_is_given(session: str) -> None:
    hint = refused("step", "given", "ok", "--session", session, "--level", "high")[1]["hint"]

    assert "a fact is given as `-s level=VALUE`" in hint


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["step", "given", "--session", ""],
            ["resume", ""],
            ["sessions", ""],
            ["run", "hello", "--session", ""],
        ),
        *(["approve", "--session", ""], ["finding", "list", ""], ["ask", "", "{}"], ["answer", "", "a=b"]),
        *(["handoff", "send", "planner", "--session", ""], ["diagram", "--session", ""], ["audit", ""]),
    ],
    ids=" ".join,
)
def test_an_empty_id_is_refused_and_means_no_session(session: str, words: list[str]) -> None:
    status, error = refused(*words)

    assert (status, error["code"]) == (2, "USAGE")
    assert error["message"].endswith("is empty")
    assert told("resume", session)["revision"] == 0


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["step", "X"],
            ["step", "given", "--session", "X"],
            ["list", "--X"],
            ["new", "X"],
            ["handoff", "send", "X"],
        ),
        *(
            ["handoff", "receive", "X"],
            ["audit", "--verify", "X"],
            ["run", "X"],
            ["step", "given", "ok", "-s", "X=1"],
        ),
        *(["discover", "X"], ["store", "init", "X"], ["hook", "X"], ["trust", "given", "--digest", "X"]),
    ],
    ids=" ".join,
)
def test_a_refusal_shows_at_most_200_characters_of_an_argument(session: str, words: list[str]) -> None:
    del session

    ran = flow(*(word.replace("X", "x" * 5_000) for word in words))

    assert ran.status != 0
    assert "x" * 201 not in ran.err
    assert len(ran.err) < 1_500


def test_ctrl_c_never_prints_a_traceback_not_even_while_modules_are_imported(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    program = f"import sys; from flowrail.__main__ import main; open({str(begun)!r}, 'w'); sys.exit(main())"

    for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
        begun.unlink(missing_ok=True)
        running = subprocess.Popen(
            [sys.executable, "-c", program, "check", "planner"], stderr=subprocess.PIPE
        )
        while not begun.exists():
            time.sleep(0.001)
        time.sleep(delay)
        running.send_signal(signal.SIGINT)
        error = running.communicate()[1]

        assert b"Traceback" not in error, error


def test_the_files_of_a_run_are_not_written_through_a_link(session: str, tmp_path: Path) -> None:
    allow("given")
    outside = tmp_path / "outside"
    outside.mkdir()
    os.symlink(outside, f".flow/sessions/{session}/runs")

    assert refused("run", "hello")[1]["code"] == "DIRECTORY_NOT_PRIVATE"
    assert not [*outside.iterdir()]
