"""A project's code runs only after a person allowed exactly that content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.evidence import git
from support.forged import disown
from support.sandbox import (
    SMALL,
    allow,
    flow,
    home_skills,
    process,
    project_skills,
    put_python,
    put_skill,
    refused,
    told,
)
from support.skills import put
from support.terminal import at_a_terminal

from flowrail.approval import approve, snapshot
from flowrail.machines.loading import python_file
from flowrail.operations.environment import Environment


def canary() -> Path:
    return Path.cwd() / "canary"


def put_canary(name: str = "py", where: Path | None = None) -> Path:
    return put_python(name, where=where, before=f"open({str(canary())!r}, 'w').close()\n")


def test_a_projects_code_runs_only_when_allowed() -> None:
    folder = put_canary()

    for words in (["step", "py"], ["step", "py", "--new"], ["show", "py", "first"]):
        status, error = refused(*words)
        assert (status, error["code"]) == (7, "NOT_TRUSTED")
        assert (
            error["message"] == "skill `py` contains Python code and has not been approved for this project"
        )
        assert error["hint"] == "a person runs: flow trust py"
        assert error["details"] == {
            "skill": "py",
            "folder": str(folder),
            "digest": snapshot(str(folder)).digest,
        }
    assert not canary().exists()
    assert not Path(".flow").exists()

    allow("py")
    assert told("step", "py")["status"] == "active"
    assert canary().exists()
    assert told("step", "py", "done")["step"]["id"] == "second"


def test_any_change_takes_trust_away_also_from_a_running_session() -> None:
    folder = put_python("py")
    allow("py")
    session = told("step", "py")["session"]
    (folder / "helper.txt").write_text("new")

    for words in (["step", "py"], ["step", "py", "done"], ["step", "py", "--new"], ["resume", session]):
        status, error = refused(*words)
        assert (status, error["code"]) == (7, "NOT_TRUSTED")
        assert error["message"].endswith("and it changed since it was approved: helper.txt (new)")

    shown = flow("sessions", session, "--json")
    assert (shown.status, shown.data["problem"]["code"], len(shown.data["history"])) == (7, "NOT_TRUSTED", 1)

    (folder / "helper.txt").unlink()
    assert told("step", "py", "done")["step"]["id"] == "second"


@pytest.mark.parametrize(("where", "behind"), [("home", "global"), ("bundled", "bundled")])
def test_a_projects_skill_that_hides_ones_own_needs_to_be_allowed_too(where: str, behind: str) -> None:
    name = "small" if where == "home" else "decision-critic"
    if where == "home":
        put_skill(name, where=home_skills())
    put_skill(name)

    status, error = refused("step", name)

    assert (status, error["code"]) == (7, "NOT_TRUSTED")
    assert f"skill `{name}` of this project overrides " in error["message"]
    assert [
        hidden["source"]
        for item in told("list")["skills"]
        if item["name"] == name
        for hidden in item["hides"]
    ] == [behind]
    allow(name)
    assert told("step", name)["status"] == "active"
    (project_skills() / name / "workflow.yaml").write_text(SMALL.replace("NAME", name) + "# other\n")
    assert refused("step", name, "--new")[1]["message"].endswith(
        "it changed since it was approved: workflow.yaml (changed)"
    )


def repository() -> None:
    git("init", "-q")
    Path(".gitignore").write_text("__pycache__/\n*.log\n")


def test_files_that_git_ignores_do_not_end_an_approval_and_those_that_someone_committed_count() -> None:
    repository()
    folder = put_python("py")
    allow("py")
    for path in ("__pycache__/helper.cpython-311.pyc", "debug.log"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("x")

    assert flow("step", "py", "--new").status == 0

    git("add", "-f", str(folder / "__pycache__"))
    assert refused("step", "py", "--new")[1]["message"].endswith("__pycache__/helper.cpython-311.pyc (new)")


def test_an_approval_is_for_one_project() -> None:
    put_python("py", where=Path.cwd() / "shared")
    allow_in = ["--root", str(Path.cwd() / "shared")]
    digest = refused("trust", "py", "--digest", "0", *allow_in)[1]["details"]["digest"]
    assert told("trust", "py", "--digest", digest, *allow_in)["allowed"]
    assert flow("step", "py", "--new", *allow_in).status == 0

    other = Path.cwd() / "other"
    (other / ".git").mkdir(parents=True)
    os.chdir(other)

    assert refused("step", "py", "--new", *allow_in)[1]["code"] == "NOT_TRUSTED"


def test_with_edits_the_owner_may_change_the_folder_and_nobody_else() -> None:
    folder = put_python("py")
    digest = refused("trust", "py", "--digest", "0")[1]["details"]["digest"]
    assert told("trust", "py", "--edits", "--digest", digest)["allowed"]

    (folder / "helper.txt").write_text("new")
    assert flow("step", "py", "--new").status == 0

    (folder / "helper.txt").chmod(0o666)
    assert refused("step", "py", "--new")[1]["code"] == "NOT_TRUSTED"
    if os.geteuid() == 0:
        (folder / "helper.txt").chmod(0o644)
        os.chown(folder / "helper.txt", 12345, -1)
        assert refused("step", "py", "--new")[1]["code"] == "NOT_TRUSTED"


def test_a_foreign_session_is_accepted_by_a_person_who_saw_what_it_contains() -> None:
    put_skill("small")
    session = str(told("step", "small", "--new")["session"])
    disown(session)

    assert refused("trust", "--session", session)[0] == 7
    refusing, _ = at_a_terminal(["trust", "--session", session], "no")
    assert "workflow small, step first, active" in refusing
    assert refused("resume", session)[0] != 0

    at_a_terminal(["trust", "--session", session], "yes")
    assert told("resume", session)["step"]["id"] == "first"


def test_a_person_is_shown_what_they_allow() -> None:
    folder = put_python("py")
    (folder / "odd\x1b[31m\n.md").touch()
    (folder / "digest 0000").touch()

    out, _ = at_a_terminal(["trust", "py"], "no")

    lines = [line.rstrip("\r") for line in out.splitlines()]
    assert f"folder {folder}" in lines
    assert f"digest {snapshot(str(folder)).digest}" in lines
    assert "  digest 0000 (0 bytes)" in lines
    assert "\x1b[31m" not in out


def test_what_runs_is_what_was_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put_python("py")
    allow("py")
    run = python_file.run

    def run_after_a_swap(*arguments: Any, **options: Any) -> object:
        put_canary()
        return run(*arguments, **options)

    monkeypatch.setattr(python_file, "run", run_after_a_swap)

    told("step", "py")

    assert (folder / "workflow.py").read_text().startswith("open(")
    assert not canary().exists()


def test_without_a_terminal_nobody_can_be_asked() -> None:
    put_python("py")

    ran = process("trust", "py", stdin="yes\n", before="import os; os.setsid()")

    assert ran.status == 7
    assert "only a person at a terminal without an agent can approve this" in ran.err
    assert refused("step", "py")[0] == 7


def test_an_agent_with_a_terminal_approves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    put_python("py")
    digest = refused("trust", "py", "--digest", "0")[1]["details"]["digest"]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "c1")

    screen, ended = at_a_terminal(["trust", "py"], "yes")

    assert ended == 7
    assert "only a person at a terminal without an agent can approve this" in screen
    assert refused("trust", "py", "--digest", digest)[0] == 7


@pytest.mark.parametrize(("answer", "status"), [(" YES ", 0), ("y", 7), ("", 7)])
def test_a_person_is_asked_at_the_terminal(answer: str, status: int) -> None:
    put_python("py")

    screen, ended = at_a_terminal(["trust", "py"], answer)

    assert "Allow skill py to run as you in this project? Type yes: " in screen
    assert ended == status, screen
    assert (flow("step", "py").status == 0) == (status == 0)


def test_what_lies_behind_a_projects_link_is_the_projects(tmp_path: Path) -> None:
    put_canary(where=tmp_path / "skills")
    project_skills().parent.mkdir()
    project_skills().symlink_to(tmp_path / "skills")

    assert refused("step", "py")[1]["code"] == "NOT_TRUSTED"
    assert not canary().exists()

    project_skills().unlink()
    project_skills().symlink_to(home_skills())
    put_canary(where=home_skills())

    assert told("step", "py")["status"] == "active"


def allowed(name: str) -> None:
    """Allow a folder of the project as it was possible before every name was looked at."""
    environment = Environment()
    approve(
        snapshot(str(project_skills() / name)),
        environment.project,
        environment.state,
        at="2026-01-01T00:00:00Z",
    )


@pytest.mark.parametrize("name", ["two\nlines", "read? Type", "b\udcffad", "\x1b[2J", "a" * 120])
def test_a_name_that_could_pass_for_something_else_is_not_asked_about(name: str) -> None:
    put(project_skills(), name, "---\nname: x\n---\n")
    digest = snapshot(str(project_skills() / name)).digest

    for verb in (["trust", "--digest", digest], ["trust", "--remove"]):
        status, error = refused(*verb, name)
        assert (status, error["code"]) == (2, "UNKNOWN_SKILL")
    allowed(name)
    assert told("trust", "--remove", name)["changed"] is True
    allowed(name)
    assert flow("trust", "--remove", name).out.count("\n") == 1
    assert refused("trust", "--remove", name)[1]["code"] == "UNKNOWN_SKILL"
    screen, ended = at_a_terminal(["trust", name], "yes")
    assert ended == 2
    assert "Type yes: " not in screen
    assert "Traceback" not in screen
