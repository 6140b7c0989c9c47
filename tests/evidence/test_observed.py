"""Commands that an agent ran itself, as its host reports them to `post-tool-use`."""

from __future__ import annotations

from typing import Any

import pytest
from support.evidence import demand, report, write
from support.hooks import A, B, claude_code, codex, hook, within
from support.sandbox import flow, put_skill, refused, told

TESTS = {"id": "tests", "run": ["pytest", "-q"]}


def begin(conversation: str | None = A) -> str:
    session = within(conversation, "start", "built")["session"]
    assert isinstance(session, str)
    return session


def succeeded(command: str, *, session: str = A, stdout: str = "3 passed", **more: Any) -> None:
    """Let the host report a command that succeeded, as Claude Code documents `PostToolUse`."""
    response = {
        "stdout": stdout,
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        **more.pop("response", {}),
    }
    tool_input = {"command": command, "description": "Run", **more.pop("tool_input", {})}
    answer = claude_code("post-tool-use", session, tool_input=tool_input, tool_response=response, **more)
    assert hook("post-tool-use", answer) == {}


def failed(command: str, **more: Any) -> None:
    """Let the host report a command that failed, as Claude Code documents `PostToolUseFailure`."""
    answer = claude_code(
        "post-tool-use-failure", A, tool_input={"command": command, "description": "Run"}, **more
    )
    assert hook("post-tool-use-failure", answer) == {}


@pytest.mark.parametrize("line", ["pytest -q", "  pytest   '-q' "])
def test_exactly_the_declared_command_is_evidence(line: str) -> None:
    demand(TESTS)
    session = begin()
    assert report(session) == {"tests": "not_run"}

    succeeded(line)

    assert report(session) == {}
    check = told("history", session)["steps"][-1]["evidence"][0]
    assert (check["level"], check["verdict"], check["event"]) == ("observed", "pass", "PostToolUse")
    assert check["seconds"] == 0.012


@pytest.mark.parametrize(
    "line",
    [
        "pytest -q || true",
        "pytest -q; true",
        "cd . && pytest -q",
        "pytest -q\ntrue",
        "echo pytest -q",
        "pytest -q tests/one.py",
        "X=1 pytest -q",
        "pytest -q #",
        "$(echo pytest) -q",
        "pytest -q \\",
    ],
)
def test_a_command_that_looks_alike_is_not(line: str) -> None:
    demand(TESTS)
    session = begin()

    succeeded(line)

    assert report(session) == {"tests": "not_run"}


def test_an_argument_with_special_characters_must_be_written_as_printed() -> None:
    demand({"id": "tests", "run": ["grep", "-q", "$x; y", "a b"]})
    session = begin()
    line = told("resume", session)["evidence"][0]["run"]

    succeeded('grep -q "$x; y" "a b"')
    assert report(session) == {"tests": "not_run"}
    succeeded(line)

    assert line == "grep -q '$x; y' 'a b'"
    assert report(session) == {}


@pytest.mark.parametrize(
    "more",
    [
        {"tool_input": {"run_in_background": True}},
        {"response": {"backgroundTaskId": "b1"}},
        {"response": {"interrupted": True}},
        {"response": {"returnCodeInterpretation": "No matches found"}},
        {"cwd": "/tmp"},
        {"session": B},
        {"tool_name": "Read"},
        {"agent_id": "a1b2c3d"},
    ],
)
def test_other_runs_do_not_count(more: dict[str, Any]) -> None:
    demand(TESTS)
    session = begin()

    succeeded("pytest -q", **more)

    assert report(session) == {"tests": "not_run"}


def test_a_failure_replaces_an_earlier_success_and_the_next_success_replaces_it() -> None:
    demand(TESTS)
    session = begin()
    succeeded("pytest -q")

    failed("pytest -q", error="Command exited with non-zero status code 1\nE   assert 1 == 2")
    assert report(session) == {"tests": "fail"}
    shown = told("evidence", "show", session)["evidence"][0]
    succeeded("pytest -q")

    assert shown["event"] == "PostToolUseFailure"
    assert "assert 1 == 2" in shown["output"]
    assert report(session) == {}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_output_must_match(stream: str) -> None:
    demand({**TESTS, "output": ["\\d+ passed"]})
    session = begin()

    succeeded("pytest -q", stdout="", response={stream: "no tests ran"})
    assert report(session) == {"tests": "fail"}
    succeeded("pytest -q", stdout="", response={stream: "12 passed in 0.1s"})

    assert report(session) == {}


def test_an_observation_is_stale_when_the_files_change() -> None:
    demand({**TESTS, "reads": ["src/**"]})
    source = write("src/a.py", "a = 1\n")
    session = begin()
    succeeded("pytest -q")

    source.write_text("a = 2\n")

    assert report(session) == {"tests": "stale"}


def test_an_observation_is_less_than_a_check() -> None:
    demand({**TESTS, "level": "checked"})
    session = begin()

    succeeded("pytest -q")

    assert report(session) == {"tests": "pass"}
    shown = told("evidence", "show", session)["evidence"][0]
    assert (shown["level"], shown["passed"]) == ("observed", False)
    assert shown["found"] == "it passed, but was only observed"
    assert "only observed  " in flow("evidence", "show", session).out


def test_a_host_whose_events_do_not_say_whether_a_command_succeeded_proves_nothing() -> None:
    demand(TESTS)
    session = within(A, "start", "built", variable="CODEX_THREAD_ID")["session"]

    assert hook("post-tool-use", codex("post-tool-use", A, tool_input={"command": "pytest -q"})) == {}

    assert report(session) == {"tests": "not_run"}


LEAD = """\
name: NAME
steps:
  - id: lead
    title: Lead
    actions: [Let it be built.]
    dispatch: {agent: developer, run: NAME/part}
    next: {ok: null}
"""
PART = """\
name: NAME/part
steps:
  - {id: build, title: Build, actions: [Build it.], evidence: {ok: [{id: tests, run: [make, test]}]}, next: {ok: null}}
"""


def test_a_command_of_a_sub_agent_counts_for_the_work_that_it_claimed() -> None:
    put_skill("lead", LEAD, texts={"workflows/part.yaml": PART})
    lead = str(within(A, "start", "lead")["session"])
    child = str(within(A, "claim", lead, "d0-1")["session"])
    claim = {"command": f"flow claim {lead} d0-1"}
    hook("post-tool-use", claude_code("post-tool-use", A, tool_input=claim, agent_id="a1b2c3d"))

    succeeded("make test")
    before = refused("step", "lead/part", "ok", "--session", child)[1]["code"]
    succeeded("make test", agent_id="a1b2c3d")

    assert before == "EVIDENCE_MISSING"
    assert told("step", "lead/part", "ok", "--session", child)["status"] == "completed"
