"""Write a project with sessions in every state that the web page shows: `python tests/support/demo_store.py FOLDER`.

It contains a session that loops and then asks, one whose evidence was refused, one that needs an approval, one that
stalled with its agents, one that runs, and one whose work was handed over. `flow ui` in the printed folder shows them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
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


class DemoSessions(NamedTuple):
    """The ids of the sessions in the store."""

    asks: str
    lacks_evidence: str
    needs_approval: str
    stalled: str
    running: str
    handed_over: str
    sent: str


def write_demo() -> DemoSessions:
    """Write skills and sessions into the project of the current folder."""
    put_skill("release", RELEASE)
    put_skill("search", SEARCH, texts={"steps/area.md": "Look at $area.\n"})
    target("fix-it")
    with minutes_ago(300):
        handed_over = handed_over_session("slow logout", received=True)
    with minutes_ago(50):
        sent = handed_over_session("slow search", received=False)
    with minutes_ago(95):
        stalled = searched("slow login", "src", "tests", "docs", finished=1)
    with minutes_ago(40):
        asks = asking_session()
    with minutes_ago(20):
        lacks_evidence = refused_session()
    with minutes_ago(12):
        needs_approval = session_at_publish("1.6.0")
        write("dist/app-1.6.0.txt", "the package\n")
        refused_report(needs_approval)
    with minutes_ago(4):
        running = started("1.7.0")
        report(running, "done", "-s", "result=red", "-s", "failing=test_login")
    return DemoSessions(asks, lacks_evidence, needs_approval, stalled, running, handed_over, sent)


def asking_session() -> str:
    """Return a session that looped, was refused once, and asks a question now."""
    session = started("1.4.0")
    for failing in ("test_login, test_session", "test_session", "test_session"):
        wait(110)
        report(session, "done", "-s", "result=red", "-s", f"failing={failing}")
    wait(400)
    report(session, "done", "-s", "result=green", "--found", "test_session needed a longer timeout")
    refused_report(session)
    describe("1.4.0")
    wait(60)
    report(session, "ok", "--remember", "publish from the main branch only")
    return session


def refused_session() -> str:
    """Return a session that claimed its changelog three times without writing the notes."""
    session = started("1.5.0")
    report(session, "done", "-s", "result=green")
    describe("1.5.0", notes=False)
    for _ in range(3):
        wait(30)
        refused_report(session)
    return session


def session_at_publish(version: str) -> str:
    """Return a session whose last step waits for nothing but its report."""
    session = started(version)
    report(session, "done", "-s", "result=green")
    describe(version)
    report(session, "ok")
    told("answer", session, "go=Yes")
    report(session, "done")
    return session


def searched(topic: str, *areas: str, finished: int) -> str:
    """Return a session whose first agents have *finished*; the next one has only claimed its work."""
    session = str(told("start", "search", "-p", f"topic={topic}")["session"])
    told("step", "search", "ok", "--session", session, "-s", f"areas={json.dumps(areas)}")
    for number, dispatch in enumerate(told("status", session)["dispatches"][: finished + 1]):
        claimed = told("claim", session, dispatch["id"], "--as", f"agent {number + 1}")
        if number < finished:
            wait(70)
            found = ("--found", "two queries for each login")
            told("finish", session, dispatch["id"], "ok", "--token", claimed["token"], *found)
    return session


def handed_over_session(topic: str, *, received: bool) -> str:
    """Return a session that ended, and whose work was sent to another skill, which may have received it."""
    session = searched(topic, "src", "tests", finished=2)
    told("step", "search", "ok", "--session", session)
    wait(200)
    told("step", "search", "ok", "--session", session)
    words = (
        "--reason",
        "the cause is found",
        "-s",
        "synthesis_summary=Each logout asks for the session twice.",
    )
    sent = told("handoff", "send", "fix-it", "--session", session, *words)
    wait(90)
    if received:
        taken = flow(*sent["receive_command"].split()[1:], "--json")
        assert taken.status == 0, taken
    return session


def started(version: str) -> str:
    """Start a release and return its session."""
    return str(told("start", "release", "-p", f"version={version}")["session"])


def report(session: str, *words: str) -> None:
    """Report an outcome."""
    told("step", "release", *words, "--session", session)


def refused_report(session: str) -> None:
    """Report `ok` where the evidence is missing."""
    refused = flow("step", "release", "ok", "--session", session)
    assert refused.status == 4, refused


def describe(version: str, *, notes: bool = True) -> None:
    """Write the evidence that the changelog step demands."""
    write("CHANGELOG.md", f"## {version}\n\n### Fixed\n\n- login, in {version}\n")
    if notes:
        write(f"notes/{version}.md", f"Notes of version {version}, for the announcement.\n")


def write(path: str, text: str) -> None:
    """Write a file of the project."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


class Clock:
    """The time at which the commands run."""

    def __init__(self) -> None:
        self._real = time.time
        self.behind = 0.0

    def time(self) -> float:
        """Return the seconds since 1970."""
        return self._real() - self.behind


CLOCK = Clock()


@contextmanager
def minutes_ago(minutes: float) -> Iterator[None]:
    """Run commands as they would have run some minutes ago; `wait` lets time pass."""
    CLOCK.behind = 60 * minutes
    with patch("time.time", CLOCK.time):
        yield


def wait(seconds: float) -> None:
    """Let the clock of the commands run ahead."""
    CLOCK.behind -= seconds


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    (folder / "home").mkdir(parents=True)
    (folder / "shop" / ".git").mkdir(parents=True)
    os.environ.update(HOME=str(folder / "home"), XDG_STATE_HOME=str(folder / "home" / "state"), USER="maria")
    for variable in ("FLOW_STORE", "CLAUDE_CODE_SESSION_ID"):
        os.environ.pop(variable, None)
    os.chdir(folder / "shop")
    sessions = write_demo()
    home = folder / "home"
    sys.stdout.write(
        f"{sessions}\ncd {folder / 'shop'}; HOME={home} XDG_STATE_HOME={home / 'state'} flow ui\n"
    )
