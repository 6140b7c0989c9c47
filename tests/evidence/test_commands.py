"""Commands of a step: `flow run`, what a person approves for it, and what its runs prove."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.evidence import allow_commands, begin, demand, report, repository, write
from support.forked import RecordedChild, start_recorded
from support.sandbox import as_user, decided, flow, process, project_skills, put_skill, refused, told

from flowrail.evidence.arguments import is_typed_by_hand

CHECK = {"id": "tests", "command": "tests"}
SCRIPT = {"run": [sys.executable, "check.py"]}
COUNTING = "open('counter', 'a').write('ran\\n'); print('the number is 7')"


def start(script: str = COUNTING, **command: object) -> str:
    """Write a skill whose step demands the command `tests`, approve it, and return a session."""
    demand(CHECK, commands={"tests": {**SCRIPT, **command}})
    write("check.py", script)
    allow_commands()
    return begin()


def run(session: str, *, status: int = 0, name: str = "tests") -> dict[str, Any]:
    """Run a command and return how it ended."""
    ran = flow("run", name, "--session", session, "--json")
    assert ran.status == status, ran
    return dict(ran.data)


def runs() -> int:
    """Return how often the script ran."""
    return len(Path("counter").read_text().splitlines()) if Path("counter").exists() else 0


# --- runs as evidence


def test_a_command_that_passed_is_evidence_until_a_file_that_it_reads_changes() -> None:
    repository()
    session = start(reads=["src/**"])
    assert report(session) == {"tests": "missing"}
    done = run(session)
    write("src/a.py", "a = 2\n")

    stale = flow("step", "built", "ok", "--session", session)

    assert (done["verdict"], done["status"], done["output"]) == ("pass", 0, "the number is 7\n")
    assert f"found src/a.py changed since it passed; run: flow run tests --session {session}" in stale.err
    write("src/a.py", "a = 1\n")
    assert report(session) == {}


def test_a_new_or_deleted_file_makes_a_pass_stale_and_an_ignored_one_does_not() -> None:
    repository()
    write(".gitignore", ".claude\n.flow\n*.log\ncounter\n")
    session = start(reads=["**"])
    run(session)
    write("src/run.log", "noise")
    write("src/__pycache__/a.pyc", "no file that git ignores here, and no source")
    assert told("resume", session)["evidence"][0]["verdict"] == "pass"

    write("src/b.py", "b = 1\n")

    assert "src/b.py changed since it passed" in flow("step", "built", "ok", "--session", session).err


def test_a_command_that_changes_what_it_reads_proves_nothing() -> None:
    repository()
    session = start("open('src/a.py', 'w').write('formatted')", reads=["src/**"])
    run(session)

    assert "found src/a.py changed while it ran" in flow("step", "built", "ok", "--session", session).err
    run(session)
    assert report(session) == {}


def test_a_command_that_fails_is_no_evidence_and_exits_with_1() -> None:
    session = start("print('3 failed'); raise SystemExit(5)")

    done = flow("run", "tests", "--session", session)

    assert done.status == 1
    assert done.out.startswith("3 failed\ntests: it exited with 5 after ")
    assert report(session) == {"tests": "fail"}


FACTS = """\
name: NAME
steps:
  - id: test
    title: Test
    actions: [Test it.]
    limit: 3
    commands:
      tests: {run: [PYTHON, check.py], facts: {failures: {match: "(\\\\d+) failed", default: 0}, who: {match: "by (\\\\w+)"}}}
    reports:
      failures: {type: integer, from: tests.failures, required: true, min: 0}
      who: {type: string, from: tests.who, example: Ann}
    rules: [{if: "failures == 0", outcome: ok}, {outcome: iterate}]
    next: {ok: null, iterate: test}
"""


def ran_with_reads(script: str) -> str:
    """Return a session whose command reads a folder, gives facts, and ran once."""
    repository()
    reads = FACTS.replace("PYTHON", sys.executable).replace("check.py],", "check.py], reads: ['src/**'],")
    put_skill("built", reads)
    write("check.py", script)
    allow_commands()
    session = begin()
    run(session)
    return session


def test_facts_are_taken_from_the_output_and_cannot_be_misreported() -> None:
    put_skill("built", FACTS.replace("PYTHON", sys.executable))
    write("check.py", "print('1 failed'); print('3 failed by Ann')")
    allow_commands()
    session = begin()
    step = ("step", "built", "done", "--session", session)
    assert told("resume", session)["next"][0]["wants"] == {}
    assert "`failures` has no value, because command `tests` did not run" in flow(*step).err
    run(session)
    assert "`failures` is taken from the output of `tests`" in flow(*step, "-s", "failures=0").err

    after = told(*step, "--expect", "0")
    again = told(*step, "--expect", "0")

    assert (after["step"]["attempt"], again["replayed"]) == (2, True)
    assert told("sessions", session)["history"][-1]["facts"] == {"failures": 3, "who": "Ann"}
    write("check.py", "print('by Bob')")
    allow_commands()
    run(session)
    assert told(*step)["status"] == "completed"


def test_the_default_of_a_fact_counts_only_if_the_command_passed() -> None:
    put_skill("built", FACTS.replace("PYTHON", sys.executable))
    write("check.py", "raise SystemExit('errors=1, by Ann')")
    allow_commands()
    session = begin()
    flow("run", "tests", "--session", session)

    refused = flow("step", "built", "done", "--session", session).err

    assert "`failures` was not found in the output of `tests`: it exited with 1" in refused


def test_a_fact_is_out_of_date_if_a_file_changed_that_its_command_reads() -> None:
    session = ran_with_reads("print('by Ann')")
    write("src/a.py", "a = 2\n")

    refused = flow("step", "built", "done", "--session", session).err

    assert "`failures` is out of date: src/a.py has changed since `tests` ran" in refused
    run(session)
    assert told("step", "built", "done", "--session", session)["status"] == "completed"


def test_a_run_of_an_earlier_attempt_is_shown_as_long_as_it_counts() -> None:
    session = ran_with_reads("print('3 failed by Ann')")

    (command,) = told("step", "built", "done", "--session", session)["commands"]
    resumed = flow("resume", session, "--format", "text").out

    assert (command["state"], command["ran_before"]) == ("pass", True)
    assert "pass before; this counts until a file that it reads changes" in resumed
    assert told("step", "built", "done", "--session", session)["step"]["attempt"] == 3


# --- once

TEAM = """\
name: NAME
steps:
  - id: hand_out
    title: Hand out
    actions: [Have it built.]
    dispatch: {agent: developer, workflow: NAME/work}
    next: {ok: null, fail: null}
"""


def test_a_command_that_runs_once_prints_its_recorded_output_afterwards() -> None:
    session = start(once=True)
    run(session)

    again = flow("run", "tests", "--session", session)

    assert (again.status, runs()) == (0, 1)
    assert again.out == "the number is 7\ntests ran just now; not run again: it passed\n"


def test_once_holds_for_the_same_arguments_in_later_attempts_rewinds_and_forks() -> None:
    session = start(once=True)
    run(session)
    assert report(session) == {}
    told("step", "built", "iterate", "--session", session)
    assert run(session)["is_repeated"]
    told("session", "rewind", session, "--to", "0")
    assert run(session)["is_repeated"]
    forked = told("session", "rewind", session, "--to", "0", "--as-new")["session"]

    assert run(forked)["is_repeated"]
    assert runs() == 1
    assert not run(begin())["is_repeated"]
    assert runs() == 2


def test_once_holds_for_an_agent_that_replaces_a_lost_one() -> None:
    demand(CHECK, commands={"tests": {**SCRIPT, "once": True}})
    work = (
        (project_skills() / "built" / "workflow.yaml").read_text().replace("name: built", "name: built/work")
    )
    put_skill("built", TEAM, texts={"workflows/work.yaml": work})
    write("check.py", COUNTING)
    allow_commands()
    lead = begin()
    first = told("step", "--session", f"{lead}.0.1")["session"]
    run(first)
    told("step", "--session", lead, "--again", "1")
    second = told("step", "--session", lead, "--again", "1")["dispatches"][0]["child"]
    told("step", "--session", second)

    assert second.endswith(".0.1-3")
    assert run(second)["is_repeated"]
    assert runs() == 1
    assert refused("run", "tests", "--session", first)[1]["code"] == "DISPATCH_GONE"


def test_once_per_attempt_runs_again_when_the_step_is_entered_again() -> None:
    session = start(once="attempt")
    run(session)
    assert run(session)["is_repeated"]
    assert report(session) == {}
    told("step", "built", "iterate", "--session", session)

    assert not run(session)["is_repeated"]
    assert runs() == 2


def test_before_a_failed_run_is_repeated_the_user_is_asked() -> None:
    session = start(f"{COUNTING}; raise SystemExit(3)", once=True)
    run(session, status=1)

    status, error = refused("run", "tests", "--session", session)
    question = told("resume", session)["questions"][0]
    in_chat = process(
        "answer", session, f"{question['id']}=Run it again", env={"CLAUDE_CODE_SESSION_ID": "abc"}
    )

    assert (status, error["code"]) == (4, "COMMAND_NOT_REPEATED")
    assert question["text"] == "Command `tests` ran and did not pass: it exited with 3. Run it again?"
    assert (in_chat.status, "[PERSON_NEEDED]" in in_chat.err) == (4, True)
    assert refused("step", "built", "ok", "--session", session)[1]["code"] == "QUESTION_OPEN"
    told("answer", session, f"{question['id']}=Do not run it")
    assert (report(session), runs()) == ({"tests": "fail"}, 1)
    refused("run", "tests", "--session", session)
    decided("answer", session, f"{question['id']}=Run it again")
    run(session, status=1)
    assert runs() == 2


def running(session: str) -> RecordedChild:
    """Start `flow run tests` in a process group of its own, and return when the command runs."""
    before = runs()
    started = start_recorded(["run", "tests", "--session", session])
    until(lambda: runs() > before)
    return started


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, at most a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


SLOW = f"""\
import os, time
{COUNTING}
print(os.getpid(), flush=True)
while not os.path.exists("may end"):
    time.sleep(0.02)
print("done")
"""


def let_it_end() -> None:
    """Let the command `SLOW` end."""
    Path("may end").touch()


def supervisor_of(session: str) -> int:
    folder = next(Path(".flow/sessions", session, "runs").iterdir())
    return int((folder / "begun").read_text())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_killed_flow_run_loses_nothing_and_attaches_again(number: signal.Signals) -> None:
    session = start(SLOW, once=True)
    first = running(session)
    os.killpg(first.pid, number)
    first.wait()

    moved = refused("step", "built", "fail", "--session", session)
    let_it_end()
    ended = run(session)

    assert (moved[0], moved[1]["code"]) == (4, "COMMAND_RUNNING")
    assert moved[1]["hint"] == f"wait for its end: flow run tests --session {session}"
    assert (ended["verdict"], ended["output"].splitlines()[-1], runs()) == ("pass", "done", 1)
    assert report(session) == {}


def test_an_end_that_nobody_waited_for_is_recorded_by_the_next_report() -> None:
    session = start(SLOW)
    first = running(session)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    let_it_end()
    while flow("step", "built", "ok", "--session", session).status == 4:
        time.sleep(0.1)

    assert [step["kind"] for step in told("sessions", session)["history"]] == [
        "start",
        "command",
        "command",
        "move",
    ]


def test_after_a_kill_of_the_supervisor_the_user_says_whether_the_command_ran() -> None:
    session = start(SLOW, once=True)
    first = running(session)
    os.kill(supervisor_of(session), signal.SIGKILL)
    first.wait()
    question = told("resume", session)["questions"][0]

    assert (first.returncode, b"its result is unknown" in first.err) == (4, True), (first.out, first.err)
    assert "it may still be running. Did it run to its end?" in question["text"]
    assert [option["label"] for option in question["options"]] == ["It ran", "It did not run", "Run it again"]
    assert told("sessions", session)["history"][-1]["revision"] == 0
    decided("answer", session, f"{question['id']}=It ran")
    assert (report(session), runs()) == ({}, 1)


def test_ctrl_c_is_passed_on_to_the_command() -> None:
    session = start(SLOW, once=True)
    first = running(session)
    until(lambda: first.out.startswith(b"the number is 7\n"))
    os.kill(first.pid, signal.SIGINT)

    first.wait()

    assert (first.returncode, first.err) == (1, b"")
    assert b"tests: it was killed by signal 2 after" in first.out


# --- arguments


ARGUMENTS = """\
name: NAME
params: {name: {type: string, default: ""}, number: {type: integer, default: 7}, names: {type: list, default: [a, b]}}
steps:
  - id: build
    title: Build
    actions: [Build it.]
    commands: {tests: {run: [PYTHON, check.py, ARGUMENT]}}
    next: {ok: null}
"""
PRINTING = "import json, sys; open('seen', 'w').write(json.dumps(sys.argv[1:]))"


def with_argument(argument: str, params: Mapping[str, str]) -> str:
    put_skill("built", ARGUMENTS.replace("PYTHON", sys.executable).replace("ARGUMENT", argument))
    write("check.py", PRINTING)
    allow_commands()
    given = [word for name, value in params.items() for word in ("-p", f"{name}={value}")]
    return str(told("step", "built", "--new", *given)["session"])


@pytest.mark.parametrize(
    "value", ["two words", 'it\'s "quoted"', "a\nb", "$HOME; touch x", "`id`", "*", "é\u202e"]
)
def test_a_value_becomes_exactly_one_argument(value: str) -> None:
    session = with_argument("$name, '--out=$name', $number", {"name": value})

    run(session)

    assert json.loads(Path("seen").read_text()) == [value, f"--out={value}", "7"]


def test_a_value_never_becomes_an_option() -> None:
    session = with_argument("$name", {"name": "--delete"})
    status, error = refused("run", "tests", "--session", session)
    assert (status, error["code"]) == (4, "ARGUMENT_REFUSED")
    assert not Path("seen").exists()

    session = with_argument("--, $name", {"name": "--delete"})
    run(session)

    assert json.loads(Path("seen").read_text()) == ["--", "--delete"]


# --- approval


def is_refused(session: str) -> bool:
    status, error = refused("run", "tests", "--session", session)
    assert error["hint"] == "a person runs: flow trust built"
    return (status, error["code"], runs()) == (7, "NOT_TRUSTED", 0)


def test_no_command_runs_before_a_person_approved_it_for_this_content_and_project() -> None:
    session = start()
    card = project_skills() / "built" / "SKILL.md"
    before = card.read_text()
    card.write_text(before + "more\n")
    assert is_refused(session)
    card.write_text(before)
    assert told("trust", "built", "--remove")["changed"]
    assert is_refused(session)

    allow_commands()

    run(session)
    assert runs() == 1


def test_the_program_is_the_one_that_was_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    program = write("tools/book", "#!/bin/sh\necho approved\n")
    program.chmod(0o755)
    demand(
        CHECK, commands={"tests": {"run": ["tools/book"]}, "other": {"run": ["python3", "-c", "print(1)"]}}
    )
    allow_commands()
    session = begin()
    fake = write("bin/python3", "#!/bin/sh\necho fake\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent.absolute()}{os.pathsep}{os.environ['PATH']}")
    assert run(session, name="other")["output"] == "1\n"
    program.write_text("#!/bin/sh\necho changed\n")

    assert is_refused(session)


def test_a_missing_program_is_named_with_what_to_do() -> None:
    demand(CHECK, commands={"tests": {"run": ["tools/book"]}})
    allow_commands()
    session = begin()
    program = write("tools/book", "#!/bin/sh\necho here\n")
    program.chmod(0o755)
    allow_commands()
    program.unlink()

    status, error = refused("run", "tests", "--session", session)

    assert (status, error["code"]) == (7, "NOT_TRUSTED")
    assert "cannot run `tools/book`" in error["message"]
    assert "is gone: install it, or approve the skill again" in error["message"]
    assert error["hint"] == "a person runs: flow trust built"


@pytest.mark.parametrize(
    "words",
    [
        ["python3", "tools/book.py", "--", "$session"],
        ["python3", "-W", "ignore", "tools/book.py"],
        ["env", "A=1", "python3", "tools/book.py"],
        ["sh", "./tools/book.py"],
    ],
)
def test_a_changed_script_is_refused_until_a_person_approves_it(words: list[str]) -> None:
    script = write("tools/book.py", "echo = 1\n")
    demand(CHECK, commands={"tests": {"run": words}})
    allow_commands()
    session = begin()
    script.write_text("print('changed')\n")
    assert is_refused(session)

    allow_commands()

    assert flow("run", "tests", "--session", session).status != 7


def test_with_edits_the_owner_may_change_and_add_scripts_of_the_skill_and_no_others() -> None:
    own, project = project_skills() / "built/scripts/count.py", write("tools/book.py", "print(1)")
    words = {"own": ["python3", str(own.relative_to(Path.cwd()))], "book": ["python3", "tools/book.py"]}
    demand(
        CHECK, commands={"tests": {"run": ["true"]}, **{name: {"run": run} for name, run in words.items()}}
    )
    as_user("trust", "built", "--edits")
    session = begin()
    own.parent.mkdir()

    own.write_text("print(1)")
    assert flow("run", "own", "--session", session).status == 0
    own.write_text("print(2)")
    assert flow("run", "own", "--session", session).status == 0
    project.write_text("print(2)")
    assert flow("run", "book", "--session", session).status == 7


def test_a_script_of_an_unchanged_copy_of_a_bundled_skill_needs_no_approval() -> None:
    repository()
    told("setup", "planner", "--host", "claude-code")
    write("plan.md", "### Milestone 1: A\n")
    words = ("-p", "plan=plan.md", "-p", "planner=planner-abc123", "-p", "round=2")
    session = str(told("step", "planner/fill-diffs", "--new", *words)["session"])
    told("step", "planner/fill-diffs", "ok", "--session", session)
    assert flow("run", "diffs", "--session", session).status == 1
    script = project_skills() / "planner" / "scripts" / "plan_diffs.py"
    script.write_text("print('mine')\n")

    assert flow("run", "diffs", "--session", session).status == 7


@pytest.mark.parametrize(
    "line",
    [
        "tools/book -- elm 3",
        "cd /work && tools/book -- elm 3",
        "cd /work && ./tools/book -- elm 3 | tail -5",
        "env A=1 tools/book -- elm '3'",
        "A=1 B=2 tools/book -- elm 3; echo done",
        "/project/tools/book -- elm 3",
        "(tools/book -- elm 3) &",
        "timeout 60 env -u HOME tools/book -- elm 3",
        "uv run tools/book -- elm 3",
        "tools/book -- elm 3 > log 2>&1",
        "tools/book -- elm 3 </dev/null | tee log",
        "cd tools && ./book -- elm 3",
        "tools/book -- \\\n  elm 3",
        "sh tools/book -- elm 3",
        "bash -c 'cd tools && ./book -- elm 3'",
        "nohup sudo -u me tools/book -- 'elm' 3 &",
    ],
)
def test_a_declared_command_that_is_typed_by_hand_is_recognised(line: str) -> None:
    assert is_typed_by_hand(line, ("tools/book", "--", "elm", "3"), "/project")


@pytest.mark.parametrize(
    "line", ["tools/book -- elm 4", "cat tools/book", "echo 'tools/book -- elm 3'", "tools/book '"]
)
def test_another_command_is_not(line: str) -> None:
    assert not is_typed_by_hand(line, ("tools/book", "--", "elm", "3"), "/project")
