"""Commands as evidence: `flow evidence show`, `run`, `approve` and `waive`, and what a person approves for `run`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from support.evidence import allow_commands, begin, demand, report, write
from support.sandbox import flow, process, project_skills, refused, told
from support.terminal import at_a_terminal

SCRIPT = {"id": "tests", "run": [sys.executable, "check.py"], "level": "checked"}


def run(session: str, check: str = "tests") -> dict[str, object]:
    """Run the command of a check and return what came of it."""
    ran = flow("evidence", "run", session, check, "--json")
    assert ran.status in {0, 1}, ran
    data: dict[str, object] = ran.data
    assert (ran.status == 0) == (data["verdict"] == "pass")
    return data


def test_a_command_that_passed_is_evidence_until_the_files_that_it_reads_change() -> None:
    demand({**SCRIPT, "reads": ["src/**"], "output": ["\\d+ passed"]})
    write("src/a.py", "a = 1\n")
    write("check.py", "print('3 passed')\n")
    allow_commands()
    session = begin()
    assert report(session) == {"tests": "not_run"}

    done = run(session)
    write("src/a.py", "a = 2\n")
    stale = report(session)
    write("src/a.py", "a = 1\n")

    assert (done["verdict"], done["exit_status"], done["level"]) == ("pass", 0, "checked")
    assert stale == {"tests": "stale"}
    assert report(session) == {}


def test_a_command_without_reads_counts_for_one_revision() -> None:
    demand(SCRIPT)
    write("check.py", "")
    allow_commands()
    session = begin()
    run(session)
    assert report(session) == {}

    told("step", "built", "iterate", "--session", session)

    assert report(session) == {"tests": "stale"}


@pytest.mark.parametrize(
    ("body", "verdict", "problem"),
    [
        ("raise SystemExit(3)", "fail", "it exited with 3"),
        ("print('0 tests')", "fail", "its output does not match"),
        ("import time; time.sleep(60)", "error", "it ran into its time limit"),
        ("import sys\nwhile True: sys.stdout.write('x' * 100_000)", "error", "it printed more than 16 MB"),
    ],
)
def test_a_command_that_fails_hangs_or_floods_is_no_evidence(body: str, verdict: str, problem: str) -> None:
    demand({**SCRIPT, "output": ["passed"], "timeout": 3 if "while" in body else 0.5})
    write("check.py", body)
    allow_commands()
    session = begin()

    done = run(session)

    assert done["verdict"] == verdict
    assert problem in str(done["problem"])
    assert len(str(done["output"])) <= 2_000
    assert report(session) == {"tests": verdict}


def test_its_whole_process_group_is_killed_at_the_limit() -> None:
    demand({**SCRIPT, "timeout": 1.5})
    child = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(60)"
    write("check.py", f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n")
    allow_commands()

    run(begin())

    pid = int(Path("pid").read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            break  # killed, and not yet collected by its new parent
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


def test_a_command_runs_without_a_shell_in_the_project_with_few_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    demand({**SCRIPT, "run": [sys.executable, "check.py", "$HOME; touch shell", "*"]})
    write(
        "check.py",
        "import json, os, sys; open('seen', 'w').write(json.dumps([sys.argv[1:], os.getcwd(), sorted(os.environ)]))",
    )
    monkeypatch.setenv("API_TOKEN", "123")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    allow_commands()
    session = begin()
    project = Path.cwd()

    run(session)

    words, folder, names = json.loads(Path("seen").read_text())
    assert words == ["$HOME; touch shell", "*"]
    assert folder == str(project)
    assert not {"API_TOKEN", "PYTHONPATH", "CLAUDE_CODE_SESSION_ID"} & set(names)
    assert not Path("shell").exists()


def test_a_command_may_use_the_session_because_no_lock_is_held() -> None:
    demand(SCRIPT)
    session = begin()
    write(
        "check.py",
        f"""\
import subprocess, sys
words = ["finding", "add", {session!r}, "--severity", "COULD", "--text", "seen", "--wait", "1"]
raise SystemExit(subprocess.call([sys.executable, "-m", "flowrail", *words]))
""",
    )
    allow_commands()

    assert run(session)["verdict"] == "pass"
    assert len(told("finding", "list", session)["findings"]) == 1
    assert report(session) == {}


def test_a_result_does_not_count_if_the_session_moved_meanwhile() -> None:
    demand(SCRIPT)
    session = begin()
    write(
        "check.py",
        f"""\
import subprocess, sys
subprocess.call([sys.executable, "-m", "flowrail", "step", "built", "fail", "--session", {session!r}])
""",
    )
    allow_commands()

    status, error = refused("evidence", "run", session, "tests")

    assert (status, error["code"]) == (4, "CONFLICT")
    assert "moved while the command ran" in error["message"]


def test_no_command_runs_before_a_person_approved_it_for_this_content_and_project() -> None:
    demand(SCRIPT)
    write("check.py", "open('ran', 'w').close()")
    session = begin()

    def is_refused() -> bool:
        status, error = refused("evidence", "run", session, "tests")
        assert error["hint"] == "a person runs: flow skill trust built --commands"
        return (status, error["code"], Path("ran").exists()) == (7, "NOT_TRUSTED", False)

    assert is_refused()
    allow_commands()
    card = project_skills() / "built" / "SKILL.md"
    before = card.read_text()
    card.write_text(before + "more\n")
    assert is_refused()
    card.write_text(before)
    assert told("skill", "untrust", "built")["changed"]
    assert is_refused()
    allow_commands()
    run(session)
    assert Path("ran").exists()


def test_an_approval_is_for_one_project() -> None:
    demand(SCRIPT)
    allow_commands()
    skill = project_skills() / "built"
    other_project = Path.cwd().parent / "other"
    (other_project / ".git").mkdir(parents=True)
    os.chdir(other_project)
    write("check.py", "open('ran', 'w').close()")
    session = told("start", "built", "--root", str(skill.parent))["session"]

    status, error = refused("evidence", "run", session, "tests", "--root", str(skill.parent))

    assert (status, error["code"]) == (7, "NOT_TRUSTED")
    assert not Path("ran").exists()


def test_a_person_sees_every_command_before_approving() -> None:
    demand(SCRIPT, {"id": "lint", "run": ["ruff", "check", "."]})

    output, status = at_a_terminal(["skill", "trust", "built", "--commands"], "yes")

    assert status == 0
    assert "built, step build, check lint: ruff check ." in output
    assert "Allow `flow evidence run` to run 2 commands as you in this project? Type yes:" in output
    assert process("skill", "trust", "built", "--commands", before="import os; os.setsid()").status == 7


def test_flow_step_never_runs_a_command() -> None:
    demand(SCRIPT, {"id": "seen", "run": [sys.executable, "check.py"]})
    write("check.py", "open('ran', 'w').close()")
    allow_commands()
    session = begin()

    report(session)
    flow("evidence", "show", session)
    flow("resume", session)

    assert not Path("ran").exists()


def test_only_a_person_at_a_terminal_approves_or_waives() -> None:
    demand({"id": "tests", "run": ["make", "test"]}, {"id": "plan", "file": "plan.md", "level": "approved"})
    session = begin()
    for verb in ("approve", "waive"):
        words = ["evidence", verb, session, "tests", "--reason", "trust me"]
        unasked = process(*words, before="import os; os.setsid()")
        assert (unasked.status, "at a terminal" in unasked.err) == (7, True)

    output, status = at_a_terminal(["evidence", "approve", session, "tests", "--reason", "ran in CI"], "yes")
    assert status == 0
    assert "expected `make test` to succeed" in output
    write("plan.md", "a plan")
    unapproved = flow("step", "built", "ok", "--session", session).err
    assert f"a person runs: flow evidence approve {session} plan --reason REASON" in unapproved
    assert "plan: plan.md" in flow("resume", session, "--format", "text").out
    assert at_a_terminal(["evidence", "approve", session, "plan", "--reason", "read it"], "yes")[1] == 0
    assert "plan (now: pass): plan.md" in flow("resume", session, "--format", "text").out
    write("plan.md", "another plan")
    assert report(session) == {"plan": "pass"}
    write("plan.md", "a plan")

    assert report(session) == {}
    move = told("history", session)["steps"][-1]
    assert {check["check"]: check["level"] for check in move["evidence"]} == {
        "tests": "approved",
        "plan": "approved",
    }


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["run", "plan"], 2, "check `plan` runs no command"),
        (["run", "pla"], 2, "step `build` has no check `pla`"),
        (
            ["approve", "plan", "--reason", "fine"],
            4,
            "does not pass (no such file), so it cannot be approved",
        ),
        (["waive", "plan", "--reason", " "], 2, "a reason is needed"),
    ],
)
def test_what_a_check_cannot_do_is_refused(words: list[str], status: int, message: str) -> None:
    demand({"id": "plan", "file": "plan.md"})
    verb, *more = words

    output, ended = at_a_terminal(["evidence", verb, begin(), *more], "yes")

    assert (ended, message in output) == (status, True), output


def test_a_waived_check_is_waived_in_this_attempt_and_says_who_and_why() -> None:
    demand({"id": "tests", "run": ["make", "test"]}, tries=1)
    session = begin()
    report(session)
    assert told("resume", session)["status"] == "waiting"

    output, status = at_a_terminal(["evidence", "waive", session, "tests", "--reason", "no network"], "yes")

    assert (status, "found no run of it (not_run)" in output) == (0, True)
    assert told("resume", session)["status"] == "active"
    assert report(session) == {}
    check = told("history", session)["steps"][-1]["evidence"][0]
    assert (check["waived"], check["reason"], check["passed"]) == (True, "no network", False)
    told("step", "built", "iterate", "--session", session)
    assert report(session) == {"tests": "not_run"}
