"""Headless agents run by workers: what counts as a result, what is tried again, and what is recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from support.fleets import (
    POOL,
    configure,
    ended,
    outcomes,
    put_prompted,
    put_trial,
    run_session,
    until,
    worker,
)
from support.sandbox import flow, put_skill, told

from flowrail.errors import TrustError
from flowrail.operations.environment import Environment

pytest.importorskip("dbos", reason="the extra `fleet` is not installed")

from flowrail.fleet.fleet import Fleet
from flowrail.fleet.folders import require_approved, worktree_of
from flowrail.fleet.pool import Pool

ASKING = """\
name: NAME
description: Asks the user first. For trying a fleet.
steps:
  - id: ask
    title: Ask
    actions: [Ask.]
    questions:
      - {id: go, header: Go, text: "Go on?", default: "Yes", deadline: DEADLINE, options: [{label: "Yes"}, {label: "No"}]}
    next: {ok: null}
"""


def test_workers_do_what_a_session_dispatches_and_tell_apart_how_agents_end() -> None:
    put_trial()
    configure(attempts=2)
    kinds = ["finish", "crash", "silent", "fail", "quota", "lie"]
    session = run_session("trial", "-p", f"kinds={json.dumps(kinds)}")

    with worker():
        status = until(ended(session))

    runs = {kind: outcomes(status, f"{session}/d0-{number}") for number, kind in enumerate(kinds, 1)}
    assert runs == {
        "finish": ["finished"],
        "crash": ["crashed", "finished"],
        "silent": ["no result"] * 2,
        "fail": ["failed"],
        "quota": ["quota", "finished"],
        "lie": ["no result"] * 2,
    }
    assert told("status", session)["status"] == "completed"
    first = next(run for run in status["runs"] if run["target"] == f"{session}/d0-1")
    assert (first["cost"], first["tokens"], first["machine"]) == (0.25, 10, os.uname().nodename)
    assert sha256(Path(first["log"]).read_bytes()).hexdigest() == first["log_sha256"]


def test_work_given_as_a_prompt_waits_while_its_pool_is_paused_and_is_finished_after_that() -> None:
    put_prompted()
    configure(attempts=2)
    assert flow("fleet", "pause", POOL, "--reason", "release day").status == 0
    session = run_session("prompted", "-p", 'kinds=["finish", "silent"]')

    with worker():
        status = until(lambda status: status["workers"])
        assert status["pools"][0]["paused"]["reason"] == "release day"
        assert (status["pools"][0]["queued"], status["runs"]) == (2, [])
        assert flow("fleet", "resume", POOL).out == f"pool {POOL} starts jobs again\n"
        status = until(ended(session))

    assert outcomes(status, f"{session}/d0-1") == ["finished"]
    assert outcomes(status, f"{session}/d0-2") == ["no result"] * 2
    assert told("status", session)["status"] == "completed"


@pytest.mark.parametrize(
    ("program", "cost", "tokens"),
    [("claude", 0.5, 115), pytest.param("codex", None, 30, marks=pytest.mark.long)],
)
def test_claude_code_and_codex_are_started_as_they_expect(
    program: str, cost: float | None, tokens: int
) -> None:
    put_skill("small")
    configure(program=program, job_cost=2.5)
    session = run_session("small")

    with worker():
        status = until(ended(session))

    (run,) = status["runs"]
    assert (run["outcome"], run["cost"], run["tokens"]) == ("finished", cost, tokens)
    assert run["command"].startswith(program)
    assert ("--max-budget-usd 2.5" in run["command"]) == (program == "claude")


def test_a_question_about_missing_evidence_waits_for_the_user_and_ends_its_session_at_its_deadline() -> None:
    put_trial()
    configure()
    session = run_session("trial", "-p", 'kinds=["lie"]')
    child = told("claim", session, "d0-1")["session"]
    assert flow("step", "trial/look", "ok", "--session", child).status == 0
    for _ in range(3):
        assert flow("step", "trial/look", "ok", "--session", child).status == 4

    shown = told("fleet", "status")["sessions"][0]
    fleet = Fleet(Environment(conversation=""))
    fleet.schedule(Pool(POOL, question_minutes=60))
    waiting = told("status", child)["status"]
    fleet.schedule(Pool(POOL, question_minutes=0))
    fleet.close()

    assert (shown["state"], waiting) == ("needs you", "waiting")
    assert shown["detail"].endswith("Second, behave=lie: 3 reports lacked evidence (`seen`). What next?")
    assert told("status", child)["status"] == "failed"


def test_a_session_waits_for_the_user_until_an_answer_or_the_default_at_its_deadline() -> None:
    put_skill("patient", ASKING.replace("DEADLINE", "3600"))
    put_skill("hasty", ASKING.replace("DEADLINE", "1"))
    configure()
    by_person, by_deadline = run_session("patient"), run_session("hasty")

    with worker():
        status = until(ended(by_deadline))
        before = {session["session"]: session["state"] for session in status["sessions"]}
        assert flow("answer", by_person, "go=Yes").status == 0
        status = until(ended(by_person))

    assert before == {by_person: "needs you", by_deadline: "completed"}
    assert {session["state"] for session in status["sessions"]} == {"completed"}
    assert outcomes(status, by_person) == outcomes(status, by_deadline) == ["finished"]


def test_the_status_says_that_a_pool_has_used_up_its_budget() -> None:
    put_trial()
    configure(daily_budget=1, job_cost=2.5)
    run_session("trial")

    (pool,) = told("fleet", "status")["pools"]

    assert (pool["queued"], pool["running"]) == (1, 0)
    assert pool["paused"]["reason"] == "$0.00 of the daily budget of $1.00 are spent or reserved"


def test_a_folder_that_is_not_approved_is_refused_and_so_are_changed_settings() -> None:
    unapproved = flow("fleet", "worker", "--pool", "claude")
    assert unapproved.status == 7
    assert "flow fleet trust" in unapproved.err

    configure()
    Path(".claude").mkdir(exist_ok=True)
    Path(".claude/settings.json").write_text('{"hooks": {}}')
    changed = flow("fleet", "worker", "--pool", POOL)

    assert changed.status == 7
    assert "changed since it was approved for headless agents: .claude/settings.json" in changed.err


def test_a_fleet_that_came_with_a_clone_is_refused_and_looking_makes_no_files() -> None:
    assert told("fleet", "status")["pools"] == []
    assert not Path(".flow").exists()
    put_trial()
    configure()
    run_session("trial")
    Path(".flow/fleet/owner").write_text("of another user\n")

    refused = flow("fleet", "status")

    assert refused.status == 7
    assert "came with a clone" in refused.err


def test_an_unknown_pool_is_refused_with_the_place_to_configure_it() -> None:
    unknown = flow("fleet", "worker", "--pool", "unknown")

    assert unknown.status == 2
    assert "config.toml" in unknown.err


@pytest.mark.long
def test_each_job_can_have_a_git_worktree_of_its_own() -> None:
    put_trial()
    configure()
    commit()
    session = run_session("trial", "-p", 'kinds=["finish", "finish"]', "--worktree")

    with worker():
        until(ended(session))

    assert told("status", session)["status"] == "completed"
    worktrees = Path(".flow/fleet/worktrees")
    assert sorted(path.name for path in worktrees.iterdir()) == [
        session,
        f"{session}-d0-1",
        f"{session}-d0-2",
    ]
    assert (worktrees / f"{session}-d0-1" / "seen-finish.txt").exists()
    assert not Path("seen-finish.txt").exists()


def test_a_worktree_with_other_settings_than_the_approved_ones_is_refused() -> None:
    configure()
    commit()
    same = worktree_of(os.getcwd(), os.path.abspath("trees"), "one", os.environ)
    require_approved(os.getcwd(), Environment().state, worktree=same)
    Path(".claude").mkdir(exist_ok=True)
    Path(".claude/settings.json").write_text('{"hooks": {}}')
    commit()
    Path(".claude/settings.json").unlink()
    other = worktree_of(os.getcwd(), os.path.abspath("trees"), "two", os.environ)

    with pytest.raises(TrustError) as refused:
        require_approved(os.getcwd(), Environment().state, worktree=other)

    assert ".claude/settings.json" in refused.value.message
    assert worktree_of(os.getcwd(), os.path.abspath("trees"), "two", os.environ) == other


def commit() -> None:
    """Commit everything in the project."""
    identity = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "--allow-empty", "-m", "a commit"]):
        subprocess.run([str(shutil.which("git")), *identity, *words], check=True)
