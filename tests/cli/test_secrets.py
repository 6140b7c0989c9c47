"""A parameter or fact with `secret: true` is used by rules and checks, and never shown."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.handoffs import payload_of, target
from support.sandbox import flow, put_skill, recorded, told

DEPLOY = """\
name: NAME
params: {token: {type: string, required: true, secret: true}, server: {type: string, default: web-1}}
steps:
  - id: log_in
    title: Log in with $token
    actions: [Use $token on $server.]
    reports: {code: {type: string, required: true, secret: true}, synthesis_summary: {type: string}}
    rules: [{if: "code == 'one-time-4711'", outcome: ok}, {outcome: iterate}]
    limit: 3
    next: {ok: check, iterate: log_in}
  - id: check
    title: Check
    actions: [Run the check with $code.]
    evidence: {ok: [{id: file, file: "out/made.txt"}]}
    next: {ok: null, fail: null}
"""
TOKEN, CODE = "hunter2-hunter2", "one-time-4711"


@pytest.fixture
def session() -> str:
    """Return a session that was given a secret parameter, reported a secret fact, and printed both in a check."""
    put_skill("deploy", DEPLOY)
    session = str(told("start", "deploy", "-p", f"token={TOKEN}")["session"])
    told("step", "deploy", "done", "-s", "code=wrong-code-1", "--session", session)
    told(
        "step",
        "deploy",
        "done",
        "-s",
        f"code={CODE}",
        "-s",
        "synthesis_summary=deployed",
        "--session",
        session,
    )
    assert flow("step", "deploy", "ok", "--session", session).status == 4
    return session


@pytest.mark.parametrize(
    "command",
    [
        "step deploy --session ID",
        "step deploy ok --session ID",
        "resume ID",
        "status ID",
        "history ID",
        "sessions",
        "session verify ID",
        "audit ID",
        "watch-once",
    ],
)
def test_no_command_shows_a_secret(session: str, command: str) -> None:
    if command == "watch-once":
        printed = watched()
    else:
        words = command.replace("ID", session).split()
        printed = "".join(
            f"{ran.out}{ran.err}"
            for ran in (flow(*words), flow(*words, "--json"), flow(*words, terminal=True))
        )

    assert printed
    assert TOKEN not in printed
    assert CODE not in printed


def test_instructions_say_that_a_value_is_secret(session: str) -> None:
    told("session", "rewind", session, "--to", "0")

    shown = flow("resume", session).out

    assert "Use [secret] on web-1." in shown
    assert "Log in with [secret]" in shown


def test_the_session_keeps_the_values_and_the_records_of_commands_do_not(session: str) -> None:
    snapshot = recorded(session)

    assert snapshot["params"]["token"] == TOKEN
    assert snapshot["state"]["code"] == CODE


def test_a_handoff_passes_no_secret_on(session: str) -> None:
    target("receiver")

    sent = told("handoff", "send", "receiver", "--session", session)

    assert TOKEN not in json.dumps(payload_of(sent))
    assert CODE not in json.dumps(payload_of(sent))
    assert "deployed" in json.dumps(payload_of(sent))


def watched() -> str:
    """Return the first lines of `flow watch --json`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flowrail", "watch", "--json"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        return process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
