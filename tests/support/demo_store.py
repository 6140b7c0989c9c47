"""Write a project with sessions in every state that the web page shows: `python tests/support/demo_store.py FOLDER`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.handoffs import target
from support.sandbox import flow, put_skill, told

RELEASE = """\
name: NAME
description: Test, describe and publish a version, with a person's approval.
params: {version: {type: string, required: true}}
steps:
  - id: test
    title: Run the tests
    phase: Prepare
    limit: 4
    actions: ["Run the tests of $version. Fix what fails, then report the result."]
    reports: {result: {type: string, choices: [green, red], required: true}, failing: {type: string}}
    rules: [{if: "result == 'green'", outcome: ok}, {outcome: iterate}]
    next: {ok: changelog, iterate: test}
  - id: changelog
    title: Write the changelog
    phase: Prepare
    actions: ["Describe $version in CHANGELOG.md, with the sections Added and Fixed."]
    evidence:
      ok:
        - {id: changelog, file: CHANGELOG.md, changed: true, contains: ["### Fixed"]}
        - {id: notes, file: "notes/$version.md", min_bytes: 20}
    next: {ok: ask, fail: test}
  - id: ask
    title: Ask for approval
    phase: Publish
    actions: [Show the changelog to the user.]
    questions:
      - id: go
        header: Release
        text: Publish $version?
        options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]
    next: {ok: publish, fail: changelog}
  - id: publish
    title: Publish
    phase: Publish
    actions: [Build and publish the package. A person looks at the package first.]
    evidence: {ok: [{id: package, file: "dist/app-$version.txt", level: approved}]}
    next: {ok: null, fail: null}
"""
SEARCH = """\
name: NAME
description: Look for the cause of a problem with several agents.
params: {topic: {type: string, required: true}}
steps:
  - id: plan
    title: Plan the search
    actions: [List the areas.]
    reports: {areas: {type: list, required: true, example: [src]}}
    next: {ok: look}
  - id: look
    title: Look in each area
    actions: [Start one agent for each area.]
    dispatch: {agent: explore, over: areas, vars: {area: $item}, prompt: steps/area.md}
    next: {ok: conclude, fail: plan}
  - {id: conclude, title: Conclude, actions: [Write down the cause.], next: {ok: null}}
"""


def write_demo() -> list[str]:
    """Write skills and sessions into the project of the current folder, and return the ids of the sessions.

    The sessions: one that looped and asks a question, one with refused evidence, one that needs an approval, one that
    stalled with its agents, one that runs, and two whose work was handed over, received and not.
    """
    put_skill("release", RELEASE)
    put_skill("search", SEARCH, texts={"steps/area.md": "Look at $area.\n"})
    target("fix-it")
    with minutes_ago(300):
        received = handed_over("slow logout", is_received=True)
    with minutes_ago(50):
        sent = handed_over("slow search", is_received=False)
    with minutes_ago(95):
        stalled = searched("slow login", "src", "tests", "docs", finished=1)
    with minutes_ago(40):
        asks = asking()
    with minutes_ago(20):
        lacks_evidence = started("1.5.0")
        report(lacks_evidence, "done", "-s", "result=green")
        write("CHANGELOG.md", "## 1.5.0\n\n### Fixed\n\n- login, in 1.5.0\n")
        for _ in range(3):
            wait(30)
            refused(lacks_evidence)
    with minutes_ago(12):
        needs_approval = started("1.6.0")
        report(needs_approval, "done", "-s", "result=green")
        describe("1.6.0")
        report(needs_approval, "ok")
        told("answer", needs_approval, "go=Yes")
        report(needs_approval, "done")
        write("dist/app-1.6.0.txt", "the package\n")
        refused(needs_approval)
    with minutes_ago(4):
        running = started("1.7.0")
        report(running, "done", "-s", "result=red", "-s", "failing=test_login")
    return [asks, lacks_evidence, needs_approval, stalled, running, received, sent]


def asking() -> str:
    """Return a session that looped, was refused once, and asks a question now."""
    session = started("1.4.0")
    for failing in ("test_login, test_session", "test_session", "test_session"):
        wait(110)
        report(session, "done", "-s", "result=red", "-s", f"failing={failing}")
    wait(400)
    report(session, "done", "-s", "result=green", "--found", "test_session needed a longer timeout")
    refused(session)
    describe("1.4.0")
    wait(60)
    report(session, "ok", "--remember", "publish from the main branch only")
    return session


def searched(topic: str, *areas: str, finished: int) -> str:
    """Return a session whose first agents have *finished*; the next one has claimed its work."""
    session = str(told("start", "search", "-p", f"topic={topic}")["session"])
    told("step", "search", "ok", "--session", session, "-s", f"areas={json.dumps(areas)}")
    for number, dispatch in enumerate(told("status", session)["dispatches"][: finished + 1]):
        claimed = told("claim", session, dispatch["id"], "--as", f"agent {number + 1}")
        if number < finished:
            wait(70)
            found = ("--found", "two queries for each login")
            told("finish", session, dispatch["id"], "ok", "--token", claimed["token"], *found)
    return session


def handed_over(topic: str, *, is_received: bool) -> str:
    """Return a session that ended, and whose work was sent to another skill."""
    session = searched(topic, "src", "tests", finished=2)
    for _ in range(2):
        told("step", "search", "ok", "--session", session)
        wait(100)
    summary = "synthesis_summary=Each logout asks for the session twice."
    words = ["fix-it", "--session", session, "--reason", "the cause is found", "-s", summary]
    sent = told("handoff", "send", *words)
    wait(90)
    if is_received:
        told(*sent["receive_command"].split()[1:])
    return session


def started(version: str) -> str:
    """Start a release and return its session."""
    return str(told("start", "release", "-p", f"version={version}")["session"])


def report(session: str, *words: str) -> None:
    """Report an outcome of a release."""
    told("step", "release", *words, "--session", session)


def refused(session: str) -> None:
    """Report `ok` without the evidence."""
    ran = flow("step", "release", "ok", "--session", session)
    assert ran.status == 4, ran


def describe(version: str) -> None:
    """Write the evidence for the changelog step."""
    write("CHANGELOG.md", f"## {version}\n\n### Fixed\n\n- login, in {version}\n")
    write(f"notes/{version}.md", f"Notes of version {version}, for the announcement.\n")


def write(path: str, text: str) -> None:
    """Write a file of the project."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


_behind = [0.0]
"""By how many seconds the clock of the commands is behind."""


@contextmanager
def minutes_ago(minutes: float) -> Iterator[None]:
    """Run commands as some minutes ago; `wait` lets time pass."""
    now = time.time
    _behind[0] = 60 * minutes
    with patch("time.time", lambda: now() - _behind[0]):
        yield


def wait(seconds: float) -> None:
    """Move the clock of the commands forward."""
    _behind[0] -= seconds


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    home, shop = folder / "home", folder / "shop"
    home.mkdir(parents=True)
    (shop / ".git").mkdir(parents=True)
    os.environ.update(HOME=str(home), XDG_STATE_HOME=str(home / "state"), USER="maria")
    for variable in ("FLOW_STORE", "CLAUDE_CODE_SESSION_ID"):
        os.environ.pop(variable, None)
    os.chdir(shop)
    write_demo()
    sys.stdout.write(f"cd {shop}; HOME={home} XDG_STATE_HOME={home / 'state'} flow ui\n")
