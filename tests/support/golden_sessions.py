"""Golden sessions: the files of a session format, written once, and the state that later versions must read from them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.dispatching_skill import REVIEW, put_lead
from support.golden import FOLDER
from support.sandbox import ASKING, SMALL, put_skill, sessions_folder, told
from support.web import APPROVAL

from flowrail.machines.sessions.session import FORMAT

KEPT = FOLDER / "sessions"
TODAY = KEPT / f"format-{FORMAT}"


def make(target: Path = TODAY) -> None:
    """Write the golden sessions of today's format, with the key of their user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOW_ACTOR", "golden")
        _run()
    target.mkdir(parents=True)
    shutil.copy(Path(os.environ["HOME"]) / ".local" / "state" / "flowrail" / "key", target / "key")
    for folder in sorted(path for path in sessions_folder().iterdir() if path.is_dir()):
        shutil.copytree(folder, target / "sessions" / folder.name, ignore=shutil.ignore_patterns("lock"))


def _run() -> None:
    """Leave sessions in every state: ended, abandoned, rewound, forked, migrated, dispatching, waiting, reviewed."""

    def step(skill: str, session: str, *words: str) -> None:
        told("step", skill, *words, "--session", session)

    put_skill("small")
    put_skill("asking", ASKING)
    put_skill("release", APPROVAL)
    put_lead()
    put_lead("reviewed", REVIEW)

    told("start", "small")
    ended = told("start", "small")["session"]
    step("small", ended, "ok")
    step("small", ended, "skip")
    told("session", "abandon", told("start", "small")["session"], "--reason", "no longer wanted")

    looped = told("start", "asking", "-p", "topic=käse ≥ 3", "-p", "size=7")["session"]
    for sure in ("low", "low", "high"):
        step("asking", looped, "done", "-s", f"sure={sure}", "-s", 'where=["a","b"]')
    told("session", "rewind", looped, "--to", "1", "--reason", "too early")
    Path("facts.json").write_text(json.dumps({"note": "a line of evidence\n" * 1_000, "where": ["a"]}))
    step("asking", looped, "done", "-s", "sure=low", "--facts", "facts.json")
    told("session", "fork", looped, "--at", "2")

    migrated = told("start", "small")["session"]
    step("small", migrated, "ok")
    put_skill("small", SMALL.replace("second", "later"))
    told("session", "migrate", migrated, "--map", "second=later")

    first, second, _ = (told(*work["command"].split()[1:]) for work in told("start", "lead")["dispatches"])
    step("lead/one", first["session"], "ok")
    step("lead/one", first["session"], "ok", "-s", "found=nothing")
    step("lead/one", second["session"], "ok")
    waiting = told("start", "release", "-p", "version=1")["session"]
    step("release", waiting, "ok")
    answered = told("start", "release", "-p", "version=2")["session"]
    step("release", answered, "ok")
    told("answer", answered, "go=Yes")
    reviewed = told("start", "reviewed")["session"]
    step("reviewed", reviewed, "ok")
    told("finding", "add", reviewed, "--severity", "MUST", "--text", "it leaks", "--place", "a.py:3")


def standing(session: str, store: str) -> dict[str, Any]:
    """Return the state of a session that no later version may read differently."""
    view = told("resume", session, "--store", store)
    records = told("history", session, "--store", store)["steps"]
    step = view["step"]
    return {
        "status": view["status"],
        "revision": view["revision"],
        "head": view["head"],
        "step": step
        and {**{name: step[name] for name in ("id", "title", "number")}, "visit": step["attempt"]},
        "params": view["params"],
        "outcomes": [case["outcome"] for case in view["next"]],
        "dispatches": [[work["id"], work["status"], work["child"]] for work in view["dispatches"]],
        "questions": [question["id"] for question in view["questions"]],
        "history": [
            [record[name] for name in ("kind", "revision", "reported", "to", "by")] for record in records
        ],
    }
