"""Looking never runs: told by Python's own audit of what is compiled, executed, imported and started."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.canary import canary, plant
from support.forged import folder_of
from support.sandbox import (
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

from flowrail.cli.main import COMMANDS

WATCHED = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout

seen = []
WATCH = {"exec", "import", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes.dlopen",
         "socket.connect", "socket.getaddrinfo", "urllib.Request", "marshal.loads", "pickle.find_class", "code.__new__"}

def watch(event, args):
    if event not in WATCH:
        return
    if event == "exec":
        seen.append([event, getattr(args[0], "co_filename", "")])
    elif event == "import":
        seen.append([event, str(args[1] or args[0])])
    elif event == "marshal.loads":
        return
    else:
        seen.append([event, str(args[:2])[:300]])

from flowrail.cli.main import main
sys.addaudithook(watch)
out = []
for words in json.loads(sys.argv[1]):
    del seen[:]
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text):
        try:
            status = main(words)
        except SystemExit as error:
            status = error.code
    out.append([words, status, list(seen), [p for p in sys.path], sorted(
        name for name, module in list(sys.modules.items()) if str(getattr(module, "__file__", "")).startswith(os.getcwd()))])
print(json.dumps(out))
"""
LOOKING = (
    ["list"], ["list", "--json"], ["show", "py"], ["show", "evil"], ["check"], ["check", "py", "--json"],
    ["check", ".claude/skills/py/workflow.py"], ["diagram", "py"], ["diagram", "evil"], ["discover", "--all"],
    ["discover", "--recursive", "--rescan"], ["discover", "--why", "py"], ["doctor"], ["registry", "show"],
    ["registry", "check"], ["registry", "sync", "--dry-run"], ["sessions", "--all"], ["status"], ["session", "verify"],
    ["audit"], ["handoff", "status"], ["handoff", "targets"], ["handoff", "validate", "yaml.py"],
    ["handoff", "diagram"], ["skill", "schema", "workflow"], ["skill", "trust", "py", "--digest", "0"],
    ["skill", "untrust", "py"], ["session", "prune", "--dry-run"], ["evidence", "show"], ["attest"],
    ["explain", "FR163"], ["show", "py", "--json"],
)  # fmt: skip
RUNNING = (
    ["step", "py"], ["start", "py"], ["skill", "preview", "py", "first"], ["test", "py"], ["skill", "coverage", "py"],
    ["handoff", "send", "py", "--health-check"],
)  # fmt: skip
"""Commands that run the code of a skill if a person approved it, and refuse it here."""


def put_all() -> None:
    plant()
    put_python("py", before=f"import helper\nopen({str(canary())!r}, 'w').close()\n")
    put_skill(
        "evil", texts={"workflow.py": f"open({str(canary())!r}, 'w').close()\n", "__init__.py": "1/0\n"}
    )


def test_nothing_of_a_project_is_compiled_executed_or_imported() -> None:
    put_all()
    here = str(Path.cwd())

    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED, json.dumps([*LOOKING, *RUNNING])],
        env=clean_environment(), capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    ran = json.loads(done.stdout)

    assert len(ran) == len(LOOKING) + len(RUNNING)
    first_path = ran[0][3]
    for words, status, seen, path, modules in ran:
        assert status in range(8), words
        assert path == first_path, words
        assert modules == [], words
        for event, what in seen:
            assert event in {"exec", "import", "code.__new__"}, (
                words,
                event,
                what,
            )  # asyncio makes code of its own
            assert here not in what, (words, event, what)
            assert what != "<unknown>", (words, event, what)  # what `ast.parse` reads is called so
    assert [status for words, status, *_ in ran if words in list(RUNNING[:3])] == [7, 7, 7]
    assert not canary().exists()
    assert not list(Path.cwd().rglob("__pycache__"))


def test_the_audit_sees_what_is_run() -> None:
    folder = put_python("py", before=f"open({str(canary())!r}, 'w').close()\n")
    allowed = flow("skill", "trust", "py", "--digest", "0").out.partition("digest ")[2].split()[0]
    assert flow("skill", "trust", "py", "--digest", allowed).status == 0

    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED, json.dumps([["step", "py"]])],
        env=clean_environment(), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    ((_, status, seen, *_),) = json.loads(done.stdout)
    assert status == 0
    assert ["exec", str(folder / "workflow.py")] in seen
    assert canary().exists()


def test_python_m_leaves_the_current_folder_alone() -> None:
    plant()
    for name in (
        "typing.py",
        "re.py",
        "os.py",
        "json.py",
        "shlex.py",
        "sitecustomize.py",
        "usercustomize.py",
    ):
        Path(name).unlink()  # what Python itself imports before it comes to us: `python -P -m flowrail`

    for words in (["list"], ["doctor", "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "flowrail", *words],
            env=clean_environment(), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")

    assert not canary().exists()


def test_every_command_has_been_thought_of() -> None:
    acting = {
        "answer", "ask", "claim", "finding", "finish", "history", "hook", "install", "mcp", "new", "resume",
        "store", "ui", "watch", "completion", "help", "fleet",
    }  # fmt: skip

    assert {words[0] for words in (*LOOKING, *RUNNING)} | acting >= set(COMMANDS)


def test_a_session_of_code_that_changed_runs_nothing_of_it() -> None:
    put_python("py")
    digest = flow("skill", "trust", "py", "--digest", "0").out.partition("digest ")[2].split()[0]
    flow("skill", "trust", "py", "--digest", digest)
    session = told("step", "py")["session"]
    put_python("py", before=f"open({str(canary())!r}, 'w').close()\n")

    for words in (
        ["step", "py"],
        ["resume", session],
        ["step", "py", "done"],
        ["session", "fork", session, "--at", "0"],
    ):
        assert refused(*words)[0] == 7, words
    for words in (
        ["session", "rewind", session, "--to", "0"],
        ["session", "migrate", session, "--plan"],
        ["session", "migrate", session],
    ):
        assert flow(*words).status in {4, 5, 7}, words
    for words in (
        ["status"],
        ["history", session],
        ["session", "verify", session],
        ["session", "abandon", session],
    ):
        flow(*words)
    assert not canary().exists()


def test_a_skill_behind_a_link_is_the_projects_still() -> None:
    put_python("py", where=Path("elsewhere"), before=f"open({str(canary())!r}, 'w').close()\n")
    Path(".claude/skills").mkdir(parents=True)
    Path(".claude/skills/py").symlink_to(Path("elsewhere/py").resolve())

    assert refused("step", "py")[0] == 7
    assert not canary().exists()


def test_python_beside_the_workflow_that_stands_for_a_skill_is_not_run_by_a_session() -> None:
    put_skill("deploy")
    python = put_python("deploy", where=Path("aside"), before=f"open({str(canary())!r}, 'w').close()\n")
    shutil.copy(python / "workflow.py", project_skills() / "deploy")
    allow("deploy")
    session = str(told("start", "deploy")["session"])
    (Path.home() / ".local" / "state" / "flowrail" / "key").unlink()
    kept = folder_of(session) / "definition.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "file": "workflow.py", "functions": True}))

    told("session", "adopt", session)

    assert told("resume", session)["actions"] == ["Do the first thing."]
    assert told("step", "deploy", "ok", "--session", session)["step"]["id"] == "second"
    assert json.loads(kept.read_text())["file"] == "workflow.yaml"
    assert not canary().exists()


HANDING = """\
name: NAME
steps:
  - {id: first, title: First, actions: [Do.], dispatch: {agent: explore, run: py, join: all}, next: {ok: null, fail: null}}
"""


def taken_over(source: str) -> str:
    """Return a session that another user started and that names the folder of its skill itself."""
    put_skill("handing", HANDING)
    session = str(told("start", "handing")["session"])
    (Path.home() / ".local" / "state" / "flowrail" / "key").unlink()
    kept = folder_of(session) / "definition.json"
    said = {**json.loads(kept.read_text()), "source": source, "folder": ".claude/skills/handing", "files": {}}
    kept.write_text(json.dumps(said))
    return session


def test_beside_a_link_to_ones_own_skill_nothing_runs_though_a_session_says_that_it_is_ones_own() -> None:
    session = taken_over("global")
    own = put_skill("handing", where=home_skills())
    shutil.rmtree(project_skills() / "handing")
    (project_skills() / "handing").symlink_to(own)
    put_python("py", before=f"open({str(canary())!r}, 'w').close()\n")

    told("session", "adopt", session)
    (work,) = told("resume", session)["dispatches"]
    status, error = refused(*work["command"].split()[1:])

    assert (status, error["code"]) == (7, "NOT_TRUSTED")
    assert not canary().exists()


@pytest.mark.parametrize("source", ["", "nowhere", "Global", "bundled "])
def test_a_session_that_says_to_be_from_nowhere_is_from_the_project(source: str) -> None:
    session = taken_over(source)
    put_python("py", before=f"open({str(canary())!r}, 'w').close()\n")

    told("session", "adopt", session)
    (work,) = told("resume", session)["dispatches"]

    assert refused(*work["command"].split()[1:])[1]["code"] == "NOT_TRUSTED"
    assert not canary().exists()
