"""A target's own check runs only when asked and allowed, without a shell, and never outlives its time."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.handoffs import send, session, target
from support.sandbox import allow, flow, project_skills, refused, told

from flowrail import approval
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.locations import Scope
from flowrail.handoff.health_check import run

ENVIRON = {"PATH": os.environ["PATH"], "SECRET": "hidden"}


def candidate(command: str | None, **more: object) -> Candidate:
    session_id = str(Path.cwd() / "SKILL.md")
    fields: dict[str, Any] = {"skill": "digger", "scope": Scope.GLOBAL, "path": session_id, **more}
    return Candidate(health_check=command, **fields)


def python(code: str) -> str:
    return f'{shlex.quote(sys.executable)} -c "{code}"'


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (python("import sys; sys.exit(3)"), "exited with 3"),
        (python("import os; os.kill(os.getpid(), 9)"), "killed by signal 9"),
        ("no-such-program --health", "`no-such-program` cannot be started: No such file or directory"),
        ("'unclosed", "the command cannot be read: no closing quotation"),
        ("a\0b", "cannot be started"),
    ],
)
def test_a_check_that_does_not_is_bad(command: str, told: str) -> None:
    health = run(candidate(command), ENVIRON)

    assert not health.holds
    assert told in health.message


def test_no_shell_reads_the_command_and_its_environment_is_minimal() -> None:
    health = run(candidate("echo $SECRET; touch canary | cat"), ENVIRON)

    assert (health.holds, health.message) == (True, "passed: $SECRET; touch canary | cat")
    assert not Path("canary").exists()
    assert "hidden" not in run(candidate(python("import os; print(dict(os.environ))")), ENVIRON).message
    assert run(candidate(None), ENVIRON).holds


def test_it_ends_with_all_its_processes_when_the_time_is_up() -> None:
    command = "sh -c 'sleep 600 & echo $! $$ > pids; echo started; wait'"

    health = run(candidate(command), ENVIRON, seconds=1)

    assert "ran into its time limit" in health.message
    pids = [int(word) for word in Path("pids").read_text().split()]
    deadline = time.monotonic() + 30
    while any(_alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_it_runs_only_when_it_is_asked_for() -> None:
    target("digger", health_check=json.dumps(python("import sys; sys.exit(1)")))
    session_id = session()

    status, error = refused("handoff", "send", "digger", "--session", session_id, "--health-check")

    assert (status, error["code"], error["recoverable"]) == (6, "HEALTH_CHECK_FAILED", True)
    assert "health check: exited with 1" in error["message"]
    assert send("digger", session_id)["status"] == "sent"


def test_a_projects_check_runs_only_where_a_person_allowed_the_folder() -> None:
    canary = Path.cwd() / "canary"
    target("digger", where=project_skills(), health_check=f"'touch {canary}'")
    session_id = session()

    status, error = refused("handoff", "send", "digger", "--session", session_id, "--health-check")
    assert status == 6
    assert "has not been approved" in error["message"]
    assert not canary.exists()

    command = error["message"].partition("a person runs: ")[2].split()
    assert command == ["flow", "trust", "digger"]
    digest = approval.snapshot(str(project_skills() / "digger")).digest
    allowed = told(*command[1:], "--digest", digest)
    assert allowed["folder"] == str(project_skills() / "digger")
    sent = send("digger", session_id, "--health-check")
    assert (sent["id"], sent["status"]) == (error["details"]["handoff"], "sent")
    assert canary.exists()


@pytest.mark.parametrize(
    "end", ["  health_check: 'true'\n---\n", "  : [\nhandoff: {accepts_from: '*'}\n---\n"]
)
def test_a_check_that_a_person_was_not_shown_does_not_run(end: str) -> None:
    canary = Path.cwd() / "canary"
    path = target("digger", where=project_skills(), health_check=f"'touch {canary}'")
    begin = path.read_text().removesuffix("\n").rpartition("---")[0]
    path.write_text(
        "\n" * 4 + begin + ("\n# " + "x" * 200) * 45 + "\n\n" + end
    )  # what is read of it first is no whole
    allow("digger")

    status, error = refused("handoff", "send", "digger", "--session", session(), "--health-check")

    assert (status, error["code"]) == (6, "TARGET_NOT_FOUND"), "what is shown and what runs is read alike"
    assert str(canary) not in flow("trust", "digger", "--digest", "0").out
    assert not canary.exists()
