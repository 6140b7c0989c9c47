"""Killed or refused at each call to the system that changes anything: no acknowledged step is lost or taken twice.

Random kills alone would miss an answer that is given before the write.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.sandbox import SMALL, flow, put_skill, refused, sessions_folder, told
from support.tracing import ANSWER, Outcome, Unsynced, moments, needs_strace, traced

pytestmark = needs_strace

LONG_TEXT = "a line of evidence\n" * 2_000
AGENTS = """\
name: NAME
steps:
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, run: NAME/look, over: [a, b], join: all}
    next: {ok: tell}
  - {id: tell, title: Tell, actions: [Tell.], reports: {note: {type: string}}, next: {ok: tell, skip: null}}
"""
LOOK = """\
name: NAME/look
steps: [{id: look, title: Look, actions: [Look.], next: {ok: null}}]
"""


class Case(NamedTuple):
    """A command that changes something, and the kind of the one record that it adds."""

    words: list[str]
    kind: str


def small() -> dict[str, Any]:
    put_skill("small")
    here: dict[str, Any] = told("step", "small")
    return here


def a_first_start() -> Case:
    put_skill("small")
    return Case(["step", "small"], "start")


def a_report() -> Case:
    return Case(small()["next"][0]["command"].split()[1:], "move")


def a_report_with_a_long_text() -> Case:
    put_skill("agents", AGENTS, texts={"workflows/look.yaml": LOOK})
    session = child_done()["parent"]
    told("step", "agents", "ok", "--session", session)
    Path("facts.json").write_text(json.dumps({"note": LONG_TEXT}))
    words = ["step", "agents", "ok", "--session", session, "--expect", "1", "--facts", "facts.json"]
    return Case(words, "move")


def child_done() -> dict[str, Any]:
    parent = told("step", "agents")
    for dispatch in parent["dispatches"]:
        child = told(*dispatch["command"].split()[1:])
        told(*child["next"][0]["command"].split()[1:])
    return {"parent": parent["session"]}


def an_end_of_an_agents_work() -> Case:
    put_skill("agents", AGENTS, texts={"workflows/look.yaml": LOOK})
    parent = told("step", "agents")
    child = told(*parent["dispatches"][0]["command"].split()[1:])
    return Case(child["next"][0]["command"].split()[1:], "move")


def a_claim() -> Case:
    put_skill("agents", AGENTS, texts={"workflows/look.yaml": LOOK})
    return Case(told("step", "agents")["dispatches"][0]["command"].split()[1:], "claim")


def a_way_back() -> Case:
    session = small()["session"]
    told("step", "small", "ok")
    return Case(["session", "rewind", session, "--to", "0", "--expect", "1"], "rewind")


def an_abandonment() -> Case:
    return Case(["session", "abandon", small()["session"]], "abandon")


def a_migration() -> Case:
    session = small()["session"]
    put_skill("small", SMALL.replace("{ok: null, skip: null}", "{ok: null, skip: null, fail: null}"))
    return Case(["session", "migrate", session], "migrate")


ERRORS = ["ENOSPC", "EIO"]
SHORT = [a_report]
LONG = [
    a_first_start,
    a_report_with_a_long_text,
    an_end_of_an_agents_work,
    a_claim,
    a_way_back,
    an_abandonment,
    a_migration,
]
cases = pytest.mark.parametrize(
    "make",
    [*SHORT, *(pytest.param(each, marks=pytest.mark.long) for each in LONG)],
    ids=lambda make: make.__name__,
)


class Scene:
    """A project and a state folder as they are before a command, put back before each try."""

    def __init__(self, make: Callable[[], Case]) -> None:
        self.case = make()
        self.store = Path.cwd() / ".flow"
        self.state = Path(os.environ["HOME"]) / ".local"
        self.kept = Path(os.environ["HOME"]) / "kept"
        for place in (self.store, self.state):
            if place.exists():
                shutil.copytree(place, self.kept / place.name, symlinks=True)
        self.before = self.records()
        self.calls = traced([*self.case.words, "--json"]).calls
        self.moments = moments(self.calls, self.store, self.state)

    def put_back(self) -> None:
        for place in (self.store, self.state):
            shutil.rmtree(place, ignore_errors=True)
            if (self.kept / place.name).exists():
                shutil.copytree(self.kept / place.name, place, symlinks=True)

    def records(self) -> int:
        """Return how many records of the command's kind there are."""
        if not sessions_folder().exists():
            return 0
        listed = told("sessions", "--all")["sessions"]
        assert [each["error"] for each in listed if each["error"]] == []
        found = [record for each in listed for record in told("history", each["session"])["steps"]]
        return sum(record["kind"] == self.case.kind for record in found)

    def tried(self, inject: str) -> Outcome:
        self.put_back()
        return traced([*self.case.words, "--json"], inject)

    def judge(self, ended: Outcome, what: str) -> int:
        """Return how many records there are now, and after the same command again; hold what has to hold."""
        now = self.records() - self.before
        assert now in {0, 1}, what
        if acknowledged(ended):
            assert now == 1, f"{what}: the answer was printed, but its record is missing"
        if self.store.exists():
            assert flow("session", "verify").status == 0, what
        again = flow(*self.case.words, "--json")
        if self.case.kind == "rewind" and now:
            assert again.error["code"] == "REVISION_CONFLICT"
        elif self.case.kind == "claim" and now:
            assert again.status in {0, 4}, what
        else:
            assert again.status == 0, (what, again)
        assert self.records() - self.before == 1, what
        assert flow("session", "verify").status == 0, what
        return now


def acknowledged(ended: Outcome) -> bool:
    try:
        return json.loads(ended.out).get("error") is None
    except ValueError:
        return False


@cases
def test_killed_at_each_call_it_has_happened_or_not_and_what_was_told_has(make: Callable[[], Case]) -> None:
    scene = Scene(make)
    seen = []

    for name, number in scene.moments:
        ended = scene.tried(f"{name}:signal=KILL:when={number}")
        assert ended.status == -9, (name, number)
        seen.append(scene.judge(ended, f"killed at {name} {number}"))

    assert seen == sorted(seen)  # once it has happened, it stays so
    assert set(seen) == {0, 1}
    assert len(seen) >= 6


@cases
@pytest.mark.parametrize(
    "error", ["one or the other", *(pytest.param(each, marks=pytest.mark.long) for each in ERRORS)]
)
def test_refused_at_each_call_it_is_told_and_goes_on_afterwards(make: Callable[[], Case], error: str) -> None:
    scene = Scene(make)
    statuses = []

    for name, number in scene.moments:
        each = error if error in ERRORS else ERRORS["write" not in name]
        ended = scene.tried(f"{name}:error={each}:when={number}")
        what = f"{each} at {name} {number}: {ended.err}"
        assert ended.status in {0, 3}, what
        assert "Traceback" not in ended.err, what
        assert acknowledged(ended) is (ended.status == 0), what
        happened = scene.judge(ended, what)
        assert happened or ended.status == 3, what
        statuses.append(ended.status)

    assert set(statuses) == {0, 3}


@cases
def test_when_the_answer_is_told_nothing_of_the_store_is_left_to_flush(make: Callable[[], Case]) -> None:
    scene = Scene(make)
    unsynced = Unsynced()
    left: list[set[str]] = []

    for call in scene.calls:
        if call.name == "write" and os.path.basename(call.path) == ANSWER:
            left.append(unsynced.contents | unsynced.names)
        unsynced.see(call)

    assert left, "nothing was told"
    inside = {path for path in left[0] if path.startswith((str(scene.store), str(scene.state)))}
    assert {os.path.basename(path) for path in inside} <= {"session.json", "lock"}
    assert any(call.name == "fsync" and call.path.endswith("journal.jsonl") for call in scene.calls)


def test_a_flush_that_failed_is_not_tried_again() -> None:
    scene = Scene(a_report)
    number = next(number for name, number in scene.moments if name == "fsync")

    ended = scene.tried(f"fsync:error=EIO:when={number}")

    flushes = [call for call in ended.calls if call.name == "fsync" and call.path.endswith("journal.jsonl")]
    assert ended.status == 3
    assert [call.done for call in flushes] == [False]
    assert refused("step", "small", "fail", "--expect", "1")[1]["code"] == "REVISION_CONFLICT"
