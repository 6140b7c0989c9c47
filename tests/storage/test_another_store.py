"""A store that is one module and one entry of `BACKENDS`: commands and hooks use it like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.sandbox import SMALL, process, put_skill

ADDED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})

from flowrail.storage.backend import BACKENDS
from support.one_file_store import SCHEME

BACKENDS["lines"] = SCHEME
"""
ADDRESS = "lines://records.jsonl"


def run(*words: str, store: str = ADDRESS, status: int = 0, stdin: str = "") -> Any:
    """Run a command of a flowrail that has the store, and return its output."""
    env = {"FLOW_STORE": store, "CLAUDE_CODE_SESSION_ID": "talk-1"}
    ran = process(*words, env=env, before=ADDED, stdin=stdin)
    assert ran.status == status, ran
    return ran.data if ran.out.startswith("{") else ran.out or ran.err


def test_a_session_runs_in_it_and_can_be_verified_and_copied() -> None:
    put_skill("small", SMALL)
    assert "is ready" in run("store", "init")
    first = run("step", "small", "--json")
    report = first["next"][0]["command"].split()[1:]

    second = run(*report, "--json")

    assert (first["step"]["id"], second["step"]["id"]) == ("first", "second")
    assert run(*report, "--json")["replayed"]
    assert len(run("sessions", first["session"], "--json")["history"]) == 2
    assert "unchanged since they were written" in run("audit", "--verify")
    assert "copied 1 session" in run("store", "copy", ADDRESS, "elsewhere")
    assert len(run("sessions", first["session"], "--json", store="elsewhere")["history"]) == 3


def test_the_stop_hook_finds_the_session_of_its_conversation() -> None:
    put_skill("small", SMALL)
    session = run("step", "small", "--json")["session"]
    stop = {"hook_event_name": "Stop", "session_id": "talk-1", "cwd": str(Path.cwd())}

    answer = run("hook", "stop", stdin=json.dumps(stop))

    assert (answer["decision"], session in answer["reason"]) == ("block", True)


def test_an_unknown_kind_of_address_is_refused_with_the_known_ones() -> None:
    refused = run("sessions", store="tables://here", status=2)

    assert "databases of kind `tables` are not supported" in refused
    assert "use postgresql://user@host/database or sqlite:///file.db or lines://records.jsonl" in refused
