"""Write skills into a project, and run commands in it: in this process or as processes."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from support.bundled_evidence import provide_evidence

from flowrail.cli.main import main
from flowrail.skills.catalog import listing

CARD = """\
---
name: NAME
description: Does things. Use it for things.
---

Begin with `flow step NAME`.
"""

SMALL = """\
name: NAME
description: A small procedure. For trying things.
steps:
  - {id: first, title: First, actions: [Do the first thing.], next: {ok: second, fail: null}}
  - {id: second, title: Second, actions: [Do the second thing.], next: {ok: null, skip: null}}
"""
"""Two steps. `put_skill` replaces NAME by the skill's name."""

ROUND = """\
name: NAME
steps:
  - id: work
    title: Work
    actions: [Work.]
    reports: {by: {type: string}}
    next: {ok: work, skip: null}
"""
"""One step that can be reported without end."""

LOOP = """\
name: NAME
params: {topic: {type: string, default: x}}
steps:
  - {id: first, title: First, next: {ok: second}}
  - {id: second, title: Second, limit: 3, next: {ok: third, iterate: second}}
  - {id: third, title: Third, next: {ok: null}}
"""
LOOP_TEXTS = {f"steps/{name}.md": f"Do the {name}.\n" for name in ("first", "second", "third")}
"""Three steps, each with a file. The second is repeated up to three times."""

ASKING = """\
name: NAME
params: {topic: {type: string, default: nothing}, size: {type: integer, min: 1, max: 9, default: 3}}
steps:
  - id: look
    title: Look at $topic
    actions: ["Look at it, $size times."]
    limit: 3
    reports:
      sure: {type: string, choices: [low, high], required: true}
      where: {type: list, required: true, example: [src, docs]}
      note: {type: string, example: an odd case}
    rules: [{if: "sure == 'high'", outcome: ok}, {outcome: iterate}]
    next: {ok: tell, iterate: look}
  - {id: tell, title: Tell, actions: ["Sure: $sure, where: $where."], next: {ok: null, fail: null}}
"""
"""A step whose rules decide from reported facts, with a limit of three."""

RELEASE = """\
name: NAME
description: Publish a release that a person allows.
params: {version: {type: string, default: 1.4.0}}
steps:
  - id: ask
    title: Ask
    actions: [Show the changes.]
    limit: 2
    questions:
      - id: ship
        header: Publish
        text: "Publish $version to production?"
        person: true
        options:
          - {label: "Yes", outcome: ok, description: "Everybody gets it"}
          - {label: "No", outcome: fail, description: "Nothing is published"}
    next: {ok: publish, fail: null}
  - id: publish
    title: Publish
    actions: [Publish it.]
    evidence: {ok: [{id: read, person: "The rollback plan of $version was read"}]}
    next: {ok: null}
"""
"""A question and a check that only a person may answer."""

HANDLER = """\
from flowrail import Outcome, StepDef, Workflow


def decide(ctx):
    BODY


WORKFLOW = Workflow(
    "NAME",
    StepDef("first", "First", ["Do it."], decide, next={Outcome.OK: "second", Outcome.FAIL: None}),
    StepDef("second", "Second", ["Do the rest."], next={Outcome.OK: None}),
)
"""
"""A Python workflow. BODY is the handler of its first step."""


BUNDLED = [found.name for found in listing(())]
"""The names of the bundled skills."""


class Ran(NamedTuple):
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error in JSON output."""
        error: dict[str, Any] = self.data["error"]
        return error


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True


def flow(*words: str, stdin: bytes = b"", terminal: bool = False) -> Ran:
    """Run a command in this process."""
    provide_evidence(words)
    out, err = Terminal() if terminal else io.StringIO(), io.StringIO()
    with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin))), redirect_stdout(out), redirect_stderr(err):
        status = main(list(words))
    ran = Ran(status, out.getvalue(), err.getvalue())
    is_unknown = "[UNKNOWN_COMMAND]" in ran.err or '"UNKNOWN_COMMAND"' in ran.out
    assert not is_unknown, (words, "a test runs a command that does not exist")
    return ran


@contextmanager
def copy_of_the_store() -> Iterator[None]:
    """Undo every change to the project's store, and to the user's state, which knows the lengths of journals."""
    state = Path.home() / ".local" / "state" / "flowrail"
    folders = [(Path(".flow").resolve(), Path("../kept").resolve()), (state, Path("../kept-state").resolve())]
    for folder, kept in folders:
        shutil.copytree(folder, kept)
    try:
        yield
    finally:
        for folder, kept in folders:
            shutil.rmtree(folder)
            kept.rename(folder)


def told(*words: str, stdin: bytes = b"") -> Any:
    """Run a command that succeeds, and return its JSON."""
    ran = flow(*words, "--json", stdin=stdin)
    assert ran.status == 0, ran
    return ran.data


def findings_of(*words: str) -> list[dict[str, Any]]:
    """Return the findings of `flow check` with these arguments."""
    checked = flow("check", *words, "--json").data["workflows"]
    return [finding for workflow in checked for finding in workflow["findings"]]


def params_of(skill: str) -> str:
    """Return options with examples of the required parameters of a skill."""
    params = told("show", skill)["params"].items()
    return " ".join(
        f"-p {shlex.quote(name + '=' + str(param.get('example') or 'x'))}"
        for name, param in params
        if param.get("required")
    )


def refused(*words: str, stdin: bytes = b"") -> tuple[int, dict[str, Any]]:
    """Run a command that is refused, and return its exit status and the error."""
    ran = flow(*words, "--json", stdin=stdin)
    assert ran.status, ran
    return ran.status, ran.error


ENTRY = "import sys; from flowrail.__main__ import main; sys.exit(main())"
"""The code of the installed command."""


def process(
    *words: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    before: str = "",
    measured: bool = True,
) -> Ran:
    """Run a command as a process. *before* is Python that runs first.

    Without *measured*, its coverage is not recorded, for a process that cannot write.
    """
    provide_evidence(words)
    command = [sys.executable, "-c", f"{before}\n{ENTRY}", *words]
    environ = {**(os.environ if measured else clean_environment()), **(env or {})}
    done = subprocess.run(
        command, input=stdin, env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def clean_environment() -> dict[str, str]:
    """Return an environment with only PATH and HOME."""
    return {name: os.environ[name] for name in ("PATH", "HOME")}


def project_skills() -> Path:
    """Return the folder of the project's skills."""
    return Path.cwd() / ".claude" / "skills"


def home_skills() -> Path:
    """Return the folder of the user's own skills."""
    return Path(os.environ["HOME"]) / ".claude" / "skills"


def put_skill(
    name: str,
    text: str = SMALL,
    *,
    where: Path | None = None,
    file: str = "workflow.yaml",
    texts: Mapping[str, str] | None = None,
) -> Path:
    """Write a skill with its SKILL.md and return its folder. *texts* are more files by path."""
    folder = (where or project_skills()) / name
    for path, content in {"SKILL.md": CARD, file: text, **(texts or {})}.items():
        full = folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(content.replace("NAME", name))
    return folder


def put_python(
    name: str, body: str = "return Outcome.OK", *, where: Path | None = None, before: str = ""
) -> Path:
    """Write a Python skill. *body* is the handler of its first step, *before* the top of the file."""
    indented = body.replace("\n", "\n    ")
    return put_skill(name, before + HANDLER.replace("BODY", indented), where=where, file="workflow.py")


def allow(skill: str) -> None:
    """Approve a skill by the digest that a person would have looked at."""
    _, error = refused("trust", skill, "--digest", "0")
    assert told("trust", skill, "--digest", error["details"]["digest"])["allowed"]


def as_user(*words: str, stdin: bytes = b"") -> Ran:
    """Run a command beside the user, who says yes at the terminal if it asks."""
    with patch("flowrail.cli.output.confirm", lambda _asked: None):
        return flow(*words, stdin=stdin)


def as_person(*words: str) -> Ran:
    """Run a command as a person who says yes at the terminal, and return its JSON."""
    return as_user(*words, "--json")


def decided(*words: str) -> Any:
    """Run a command with which a person decides, at a terminal, and return its JSON."""
    ran = as_person(*words)
    assert ran.status == 0, ran
    return ran.data


def accept(session: str, *more: str) -> Ran:
    """Accept a foreign session, as a person."""
    return as_person("trust", "--session", session, *more)


def sessions_folder(store: Path | None = None) -> Path:
    """Return the folder that holds the sessions."""
    return (store or Path.cwd() / ".flow") / "sessions"


def recorded(session: str, store: Path = Path(".flow")) -> dict[str, Any]:
    """Return a session as the last line of its journal has it."""
    journal = sessions_folder(store) / session / "journal.jsonl"
    state: dict[str, Any] = json.loads(journal.read_bytes().splitlines()[-1])["session"]
    return state


def bytes_below(folder: Path, but: Collection[str] = ()) -> dict[str, tuple[int, int, bytes]]:
    """Return the inode, the time of change and the content of every file below *folder*, except some names."""
    found: dict[str, tuple[int, int, bytes]] = {}
    for path in sorted(each for each in folder.rglob("*") if each.name not in but):
        about = path.lstat()
        is_file = path.is_file()
        found[str(path.relative_to(folder))] = (
            about.st_ino,
            about.st_mtime_ns if is_file else 0,
            path.read_bytes() if is_file else b"",
        )
    return found


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Check that the body changes nothing below *folder*."""
    before = bytes_below(folder)
    yield
    assert bytes_below(folder) == before
