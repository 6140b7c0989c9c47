"""Sessions as a release wrote them, kept as files: how those of today's format are made, once."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.golden import FOLDER
from support.sandbox import SMALL, home_skills, put_skill, sessions_folder, told

from flowrail.machines.sessions.session import FORMAT

KEPT = FOLDER / "sessions"
TODAY = KEPT / f"format-{FORMAT}"
ROUND = """\
name: NAME
params: {topic: {type: string, default: pools}, size: {type: integer, default: 3}}
steps:
  - id: look
    title: Look ($visit of $limit)
    phase: evidence
    actions: ["Look at $topic, $size times."]
    limit: 5
    reports:
      sure: {type: string, choices: [low, high], required: true}
      where: {type: list}
      note: {type: string}
    rules: [{if: "sure == 'high'", outcome: ok}, {outcome: iterate}]
    next: {ok: tell, iterate: look}
  - {id: tell, title: Tell, actions: ["Noted: $note"], next: {ok: null, fail: null}}
"""
TEAM = """\
name: NAME
steps:
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, run: NAME/look, over: [a, b], vars: {area: $item}, join: at least 1}
    next: {ok: tell}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""
LOOK = """\
name: NAME/look
params: {area: {type: string, required: true}}
steps: [{id: look, title: Look, actions: ["Look at $area."], next: {ok: null, fail: null}}]
"""
ASK = """\
name: NAME
steps:
  - id: plan
    title: Plan
    actions: [Show the plan.]
    questions:
      - {id: go, header: Approve, text: "Go on?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]}
    next: {ok: tell, fail: plan}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""
GATE = """\
name: NAME
steps:
  - {id: work, title: Do the work, actions: [Work.], next: {ok: review}}
  - {id: review, title: Review it, actions: [Review.], next: {ok: gate, fail: gate}}
  - {id: gate, title: Gate, actions: [Decide.], gate: {name: Quality, review: review}, next: {ok: tell, fail: work}}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""


def make() -> None:
    """Write the golden sessions of today's format, with the key that they are signed with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOW_ACTOR", "golden")
        _run()
    assert not TODAY.exists()
    TODAY.mkdir(parents=True)
    state = Path(os.environ["HOME"]) / ".local" / "state" / "flowrail"
    shutil.copy(state / "key", TODAY / "key")
    for folder in sorted(path for path in sessions_folder().iterdir() if path.is_dir()):
        kept = TODAY / "sessions" / folder.name
        shutil.copytree(folder, kept, ignore=shutil.ignore_patterns("lock"))


def _run() -> None:
    where = home_skills()
    put_skill("small", where=where)
    put_skill("round", ROUND, where=where)
    put_skill("team", TEAM, where=where, texts={"workflows/look.yaml": LOOK})
    put_skill("ask", ASK, where=where)
    put_skill("gate", GATE, where=where)
    for skill in ("small", "round", "team", "ask", "gate"):
        assert told("start", skill)["revision"] == 0
    ended = told("start", "small", "--json")["session"]
    told("step", "small", "ok", "--session", ended)
    told("step", "small", "skip", "--session", ended)
    told("session", "abandon", told("start", "small")["session"], "--reason", "no longer wanted")

    turned = told("start", "round", "-p", "topic=käse ≥ 3", "-p", "size=7")["session"]
    for sure in ("low", "low", "high"):
        told("step", "round", "done", "-s", f"sure={sure}", "-s", 'where=["a","b"]', "--session", turned)
    told("session", "rewind", turned, "--to", "1", "--reason", "too early")
    Path("facts.json").write_text(json.dumps({"note": "a line of evidence\n" * 1_000}))
    told("step", "round", "done", "-s", "sure=low", "--facts", "facts.json", "--session", turned)
    told("session", "fork", turned, "--at", "2")
    moved = told("start", "small")["session"]
    told("step", "small", "ok", "--session", moved)
    put_skill("small", SMALL.replace("second", "later"), where=where)
    told("session", "migrate", moved, "--map", "second=later")

    team = told("start", "team")
    first, second = (told(*each["command"].split()[1:]) for each in team["dispatches"])
    told("step", "team/look", "ok", "--session", first["session"])
    asked = told("start", "ask")["session"]
    told("answer", asked, "go=Yes")
    gate = told("start", "gate")["session"]
    for words in (["ok"], None, ["ok"], ["done"]):
        if words is None:
            told("finding", "add", gate, "--severity", "MUST", "--text", "it leaks", "--place", "a.py:3")
        else:
            told("step", "gate", *words, "--session", gate)
    del second


def standing(session: str, store: str) -> dict[str, Any]:
    """Return where a session stands, as far as no later version may tell it otherwise."""
    here = told("resume", session, "--store", store)
    records = told("history", session, "--store", store)["steps"]
    return {
        "status": here["status"],
        "revision": here["revision"],
        "head": here["head"],
        "step": here["step"]
        and {
            **{name: here["step"][name] for name in ("id", "title", "number")},
            "visit": here["step"]["attempt"],
        },
        "params": here["params"],
        "outcomes": [way["outcome"] for way in here["next"]],
        "dispatches": [[each["id"], each["status"], each["child"]] for each in here["dispatches"]],
        "questions": [each["id"] for each in here["questions"]],
        "history": [
            [each["kind"], each["revision"], each["reported"], each["to"], each["by"]] for each in records
        ],
    }
