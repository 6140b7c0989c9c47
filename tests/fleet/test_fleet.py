"""Headless agents run by workers: what counts as a result, what is tried again, and what is recorded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.fleets import (
    AGENT,
    PROGRAM,
    configure,
    ended,
    outcomes,
    put_prompted,
    put_trial,
    run_session,
    runs_of,
    until,
    worker,
)
from support.sandbox import flow, put_skill, refused, told

pytest.importorskip("dbos", reason="the extra `fleet` is not installed")


ASKING = """\
name: NAME
description: Asks the user first. For trying a fleet.
steps:
  - id: ask
    title: Ask
    actions: [Ask.]
    questions:
      - {id: go, header: Go, text: "Go on?", options: [{label: "Yes"}, {label: "No"}]}
    next: {ok: null}
"""

ANOTHER_HOST = f"""
import os
from flowrail.hosts import host

class Other(host.Host):
    name = title = "other"
    skills = ".other/skills"
    program = "python3"
    headless = ("python3", "{AGENT}", "$arguments")
    fleet_arguments = (os.path.join(os.environ["HOME"], "memory"),)

host.HOSTS += (Other(),)
"""


def test_workers_do_what_a_session_dispatches_and_tell_apart_how_agents_end() -> None:
    put_trial()
    configure(attempts=2)
    kinds = ["finish", "crash", "silent", "fail", "quota", "lie"]
    session = run_session("trial", "-p", f"kinds={json.dumps(kinds)}")

    with worker():
        status = until(ended(session))

    runs = {kind: outcomes(status, f"{session}.0.{number}") for number, kind in enumerate(kinds, 1)}
    assert runs == {
        "finish": ["finished"],
        "crash": ["crashed", "finished"],
        "silent": ["no result"] * 2,
        "fail": ["failed"],
        "quota": ["quota", "finished"],
        "lie": ["no result"] * 2,
    }
    assert told("sessions", session)["status"] == "completed"
    (first,) = runs_of(status, f"{session}.0.1")
    assert first["machine"] == os.uname().nodename
    assert '"result"' in Path(first["log"]).read_text()


def test_a_session_waits_for_the_user_until_an_answer() -> None:
    put_skill("patient", ASKING)
    configure()
    session = run_session("patient")

    with worker():
        until(lambda status: status["workers"] and told("sessions", session)["status"] == "waiting")
        assert flow("answer", session, "go=Yes").status == 0
        status = until(ended(session))

    assert told("sessions", session)["status"] == "completed"
    assert outcomes(status, session) == ["finished"]


def test_a_fleet_that_came_with_a_clone_is_refused_and_looking_makes_no_files() -> None:
    assert told("fleet", "status")["sessions"] == []
    assert not Path(".flow").exists()
    put_trial()
    configure()
    run_session("trial")
    Path(".flow/fleet/owner").write_text("of another user\n")

    refused = flow("fleet", "status")

    assert refused.status == 7
    assert "came with a clone" in refused.err


def test_work_given_as_a_prompt_is_tried_again_until_its_attempts_are_used_up() -> None:
    put_prompted()
    configure()
    session = run_session("prompted", "-p", 'kinds=["finish", "silent"]')

    with worker("--attempts", "2"):
        status = until(ended(session))

    assert outcomes(status, f"{session}.0.1") == ["finished"]
    assert outcomes(status, f"{session}.0.2") == ["no result"] * 2
    assert told("sessions", session)["status"] == "completed"


@pytest.mark.parametrize("program", ["claude", pytest.param("codex", marks=pytest.mark.long)])
def test_claude_code_and_codex_are_started_as_they_expect(program: str) -> None:
    put_skill("small")
    configure()
    session = run_session("small", program=program)

    with worker(program=program):
        status = until(ended(session))

    assert outcomes(status, session) == ["finished"]


def test_a_host_that_is_only_a_class_is_started_by_its_headless_command() -> None:
    put_skill("small")
    configure()
    session = run_session("small", program="python3")

    with worker(program="python3", before=ANOTHER_HOST):
        status = until(ended(session))

    assert outcomes(status, session) == ["finished"]


def test_an_agent_that_runs_too_long_is_killed_and_tried_again() -> None:
    put_trial()
    configure(attempts=1000)
    session = run_session("trial", "-p", 'kinds=["hang"]')
    agent = f"{session}.0.1"

    with worker("--time-limit", "0.02"):
        until(lambda status: outcomes(status, agent))
    with worker():  # on a busy machine, no run ends within the limit
        status = until(ended(session))

    first, *_, last = outcomes(status, agent)
    assert (first, last) == ("timed out", "finished")


def test_a_folder_that_is_not_approved_is_refused_and_so_are_changed_settings() -> None:
    configure()
    Path(".claude").mkdir(exist_ok=True)
    Path(".claude/settings.json").write_text('{"hooks": {}}')

    changed = flow("fleet", "worker", "--program", PROGRAM)

    assert changed.status == 7
    assert "only a person at a terminal without an agent can approve this" in changed.err
    assert "flow fleet worker" in changed.err


def test_an_unknown_program_is_refused_with_the_place_to_configure_it() -> None:
    unknown = flow("fleet", "worker", "--program", "unknown")

    assert unknown.status == 2
    assert "config.toml" in unknown.err


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("slots = 0", "`fleet.slots` must be at least 1"),
        ('time_limit = "long"', "`fleet.time_limit` must be a number"),
        ("colour = 1", "`fleet.colour` is not a known key"),
        ('programs = {mine = "agent"}', "`fleet.programs.mine` must be a list"),
    ],
)
def test_a_wrong_value_in_the_configuration_is_refused_with_the_place(line: str, problem: str) -> None:
    file = Path.home() / ".config" / "flowrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f"[fleet]\n{line}\n")

    status, error = refused("fleet", "worker")

    assert (status, error["code"]) == (2, "DOCUMENT")
    assert error["message"].endswith(f"config.toml: {problem}")
