"""No command runs code of a project that a person has not approved: Python, programs for git, modules on the path."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.canary import canary, plant
from support.forged import folder_of, rewritten
from support.handoffs import WORK, card
from support.sandbox import (
    accept,
    allow,
    clean_environment,
    flow,
    home_skills,
    project_skills,
    put_python,
    put_skill,
    refused,
    told,
)

from flowrail.command_table import COMMANDS

AUDITED = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from flowrail.cli.main import main

WATCHED = {"exec", "import", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes.dlopen",
           "socket.connect", "socket.getaddrinfo", "urllib.Request", "pickle.find_class", "code.__new__"}
events = []

def watch(event, args):
    if event == "exec":
        events.append([event, getattr(args[0], "co_filename", "")])
    elif event in WATCHED:
        events.append([event, str(args[1] or args[0]) if event == "import" else str(args[:2])[:300]])

sys.addaudithook(watch)
answers, path = [], list(sys.path)
for words in json.loads(sys.argv[1]):
    events.clear()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            status = main(words)
        except SystemExit as error:
            status = error.code
    modules = [str(getattr(module, "__file__", "")) for module in list(sys.modules.values())]
    assert sys.path == path, words
    answers.append([words, status, list(events), [file for file in modules if file.startswith(os.getcwd())]])
print(json.dumps(answers))
"""
READING = (
    ["list"], ["list", "--json"], ["show", "py"], ["show", "evil"], ["check"], ["check", "py", "--json"],
    ["check", ".claude/skills/py/workflow.py"], ["diagram", "py"], ["diagram", "evil"], ["discover", "--all"],
    ["doctor"], ["registry", "sync", "--dry-run"], ["sessions", "--all"],
    ["audit", "--verify"], ["audit"], ["handoff", "status"], ["discover"], ["handoff", "check", "yaml.py"],
    ["show", "evil", "first"], ["trust"], ["trust", "py", "--digest", "0"],
    ["trust", "py", "--remove"], ["session", "prune", "--dry-run"],
    ["explain", "FR163"], ["conform", "evil", "yaml.py"], ["conform", "py", "yaml.py"],
)  # fmt: skip
HARMLESS_GIT = "('git', ['git', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', 'ls-files', "
"""flow asks git which files it ignores. Started like this, git runs nothing that the project's settings name."""
RUNNING = (
    ["step", "py"], ["step", "py", "--new"], ["show", "py", "first"], ["test", "py"],
    ["handoff", "send", "py", "--health-check"],
)  # fmt: skip
"""Commands that run the code of a skill if a person approved it."""
NOT_ABOUT_SKILLS = {
    "answer", "approve", "ask", "finding", "hook", "setup", "mcp", "new", "resume",
    "run", "store", "ui", "waive", "watch", "fleet",
}  # fmt: skip


def audited(*commands: list[str]) -> list[Any]:
    """Run commands in one process, and return what Python compiled, executed, imported and started for each."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", AUDITED, json.dumps(commands)],
        env=clean_environment(), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def put_evil(where: Path | None = None) -> Path:
    """Write the skill `py`, whose Python creates the canary if it runs."""
    folder = put_python("py", where=where, before=f"open({str(canary())!r}, 'w').close()\n")
    (folder / "SKILL.md").write_text(card("py"))
    return folder


def test_nothing_of_a_project_is_compiled_executed_or_imported() -> None:
    plant()
    put_evil()
    put_skill(
        "evil", texts={"workflow.py": f"open({str(canary())!r}, 'w').close()\n", "__init__.py": "1/0\n"}
    )

    for words, status, events, imported in audited(*READING, *RUNNING):
        assert imported == [], words
        assert status in ({7} if words in list(RUNNING[:3]) else range(8)), words
        for event, name in events:
            if event == "subprocess.Popen" and name.startswith(HARMLESS_GIT):
                continue
            assert event in {"exec", "import", "code.__new__"}, (
                words,
                event,
                name,
            )  # asyncio makes code objects
            assert str(Path.cwd()) not in name, (words, event, name)
            assert name != "<unknown>", (words, event, name)  # the name that `ast.parse` gives
    assert not canary().exists()
    assert not list(Path.cwd().rglob("__pycache__"))


def test_the_audit_sees_what_is_run() -> None:
    folder = put_evil()
    allow("py")

    ((_, status, events, _),) = audited(["step", "py"])

    assert status == 0
    assert ["exec", str(folder / "workflow.py")] in events
    assert canary().exists()


def test_python_m_leaves_the_current_folder_alone() -> None:
    plant()
    for name in ("typing", "re", "os", "json", "shlex", "sitecustomize", "usercustomize"):
        Path(f"{name}.py").unlink()  # Python itself imports these before flowrail; `python -P` does not

    for words in (["list"], ["doctor", "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "flowrail", *words],
            env=clean_environment(), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")

    assert not canary().exists()


def test_every_command_is_audited_or_does_not_read_skills() -> None:
    assert {words[0] for words in (*READING, *RUNNING)} | NOT_ABOUT_SKILLS >= set(COMMANDS)


# --- code that is not approved


def started() -> Path:
    """Return the folder of an approved skill that has an open session."""
    folder = put_python("py")
    allow("py")
    told("step", "py", "--new")
    return folder


def changed_after_the_approval() -> None:
    started()
    put_evil()


def no_longer_approved() -> None:
    started()
    put_evil()
    allow("py")
    assert flow("trust", "py", "--remove").status == 0


def replaced_by_a_link() -> None:
    shutil.rmtree(started())
    (project_skills() / "py").symlink_to(put_evil(Path.cwd() / "evil"))


def hiding_ones_own_skill() -> None:
    put_python("py", where=home_skills())
    told("step", "py", "--new")
    put_evil()


def named_as_ones_own_by_an_accepted_session() -> None:
    started()
    put_evil()
    for folder in Path(".flow", "sessions").glob("py-*"):
        rewritten(folder, lambda records: records[0]["definition"].update(source="global"), own=False)
        assert accept(folder.name).status == 0


LEAD = """\
name: NAME
then: py
steps:
  - {id: first, title: First, actions: [Do.], dispatch: {agent: explore, workflow: py}, next: {ok: null, fail: null}}
"""
WITHOUT_A_SESSION = (
    "step py --new", "step py", "step py done", "show py first", "test py", "test .claude/skills/py",
    "test lead", "check", "check py", "show py", "diagram py", "discover --all --json",
    "doctor", "list", "sessions --all", "conform py run.jsonl",
)  # fmt: skip
WITH_A_SESSION = (
    "resume ID", "step py ok --session ID", "sessions ID", "audit ID --verify", "diagram --session ID",
    "finding add ID --severity MUST --text x", "answer ID go=Yes", "step --session ID", "session rewind ID --to 0",
    "session rewind ID --to 0 --as-new", "session migrate ID", "session migrate ID --to second",
    "ask ID -",
)  # fmt: skip
QUESTION = b'{"questions": [{"id": "go", "header": "Go", "text": "Go?", "options": [{"label": "Yes"}, {"label": "No"}]}]}'


def every_command() -> Iterator[list[str]]:
    """Yield every command that could run the skill `py`, its dispatch and its handoff included."""
    yield from (line.split() for line in WITHOUT_A_SESSION)
    for session in Path(".flow", "sessions").glob("py-*"):
        yield from (line.replace("ID", session.name).split() for line in WITH_A_SESSION)
    yield from (dispatch["command"].split()[1:] for dispatch in told("step", "lead", "--new")["dispatches"])
    yield ["step", "lead", "ok"]
    source = told("step", "source", "--new")["session"]
    sent = flow("handoff", "send", "py", "--session", source, "--health-check", "--json").data
    if "receive_command" in sent:
        yield sent["receive_command"].split()[1:]


@pytest.mark.parametrize(
    "put",
    [
        put_evil,
        changed_after_the_approval,
        no_longer_approved,
        replaced_by_a_link,
        hiding_ones_own_skill,
        named_as_ones_own_by_an_accepted_session,
    ],
)
def test_no_command_runs_code_that_is_not_approved(put: Callable[[], object]) -> None:
    put_skill("lead", LEAD)
    put_skill("source", WORK, where=home_skills())
    put()
    canary().unlink(missing_ok=True)

    refusals = 0
    for words in every_command():
        refusals += flow(*words, stdin=QUESTION).status == 7
        assert not canary().exists(), words

    assert refusals >= 4


def test_these_commands_run_approved_code_and_commands_about_stored_sessions_do_not() -> None:
    put_skill("lead", LEAD)
    put_skill("source", WORK, where=home_skills())
    started()
    put_evil()
    allow("py")
    ran: set[str] = set()

    for words in every_command():
        canary().unlink(missing_ok=True)
        flow(*words, stdin=QUESTION)
        verb = words[1] if words[0] == "session" else words[0]
        verb = "sessions ID" if verb == "sessions" and words != ["sessions", "--all"] else verb
        ran |= {verb} if canary().exists() else set()

    assert ran >= {
        "step",
        "test",
        "resume",
        "finding",
        "ask",
    }
    assert ran >= {"rewind", "migrate", "handoff", "check", "show", "diagram", "doctor", "list"}
    assert not ran & {"discover", "sessions", "audit"}


def lying(skill: str, **lies: object) -> str:
    """Return an accepted session whose definition says something wrong about its origin."""
    session = str(told("step", skill, "--new")["session"])
    rewritten(folder_of(session), lambda records: records[0]["definition"].update(lies), own=False)
    accept(session)
    return session


def test_a_session_cannot_name_python_beside_its_workflow() -> None:
    put_skill("deploy")
    shutil.copy(put_evil(Path("aside")) / "workflow.py", project_skills() / "deploy")
    allow("deploy")

    session = lying("deploy", file="workflow.py", functions=True)

    assert told("resume", session)["actions"] == ["Do the first thing."]
    assert told("step", "deploy", "ok", "--session", session)["step"]["id"] == "second"
    assert not canary().exists()


@pytest.mark.parametrize("source", ["global", "", "nowhere", "bundled "])
def test_a_session_cannot_say_that_its_skill_is_ones_own(source: str) -> None:
    put_skill("handing", LEAD.replace("then: py\n", ""))
    put_evil()
    session = lying("handing", source=source, folder=".claude/skills/handing", files={})
    if source == "global":
        own = put_skill("handing", where=home_skills())
        shutil.rmtree(project_skills() / "handing")
        (project_skills() / "handing").symlink_to(own)

    (work,) = told("resume", session)["dispatches"]

    assert refused(*work["command"].split()[1:])[1]["code"] == "NOT_TRUSTED"
    assert not canary().exists()
