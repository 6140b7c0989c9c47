"""Sessions of earlier formats stay readable and continue.

They are files under `tests/golden/sessions`, one folder for each format, and never change. Before a release,
add the newest format: run this file with ``FLOWRAIL_GOLDEN=write``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import golden_sessions
from support.golden import as_in_golden_file, writing
from support.golden_sessions import KEPT, TODAY, standing
from support.sandbox import flow, told

from flowrail.machines.sessions.session import FORMAT


def formats() -> list[str]:
    return sorted(path.name for path in KEPT.iterdir()) if KEPT.is_dir() else []


@pytest.fixture
def store(request: pytest.FixtureRequest) -> str:
    """A store with the golden sessions of a format, adopted as a user would."""
    folder = Path.cwd() / "kept"
    shutil.copytree(KEPT / request.param / "sessions", folder / "sessions")
    for session in sessions(str(folder)):
        assert told("session", "adopt", session, "--store", str(folder))["was_foreign"]
    return str(folder)


every = pytest.mark.parametrize("store", formats(), indirect=True)


def sessions(store: str) -> list[str]:
    return sorted(path.name for path in Path(store, "sessions").iterdir() if path.is_dir())


@pytest.mark.skipif(not writing() or TODAY.exists(), reason="the sessions of a format are written once")
def test_the_sessions_of_the_newest_format_are_written() -> None:
    golden_sessions.make()


def test_there_are_sessions_of_every_earlier_format() -> None:
    assert {*formats()} >= {f"format-{number}" for number in range(1, FORMAT)}


@every
def test_each_recorded_session_is_at_its_step(store: str, request: pytest.FixtureRequest) -> None:
    standings = {session: standing(session, store) for session in sessions(store)}

    name = f"sessions/{request.node.callspec.params['store']}/standing.json"
    assert as_in_golden_file(name, json.dumps(standings, indent=1, ensure_ascii=False))


@every
def test_each_is_as_it_was_written(store: str) -> None:
    ran = flow("session", "verify", "--store", store, "--json")

    assert ran.status == 0, ran.out
    assert len(ran.data["sessions"]) == len(sessions(store)) > 12


@every
def test_each_goes_on(store: str) -> None:
    gone_on = 0
    for session in sessions(store):
        answer = told("resume", session, "--store", store)
        transitions = [
            transition
            for transition in answer["next"]
            if not transition["waits_for"] and not any(want["required"] for want in transition["wants"])
        ]
        if not transitions:
            continue
        after = told(*transitions[0]["command"].split()[1:])
        assert after["revision"] == answer["revision"] + 1
        assert told(*transitions[0]["command"].split()[1:])["replayed"]
        gone_on += 1

    assert gone_on >= 8
    assert flow("session", "verify", "--store", store).status == 0


@every
def test_each_goes_back_to_where_it_began(store: str) -> None:
    for session in sessions(store):
        first = told("history", session, "--store", store)["steps"][0]
        fork = flow("session", "fork", session, "--at", str(first["revision"]), "--store", store, "--json")
        assert fork.status == 0 or fork.error["code"] == "DEFINITION_CHANGED", fork
