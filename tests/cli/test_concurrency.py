"""Commands that run at the same time or are killed: every acknowledged step is stored exactly once."""

from __future__ import annotations

import json
import os
import random
import time
from typing import Any

import pytest
from support.interruptions import killed_after, together
from support.sandbox import ROUND, flow, put_skill, refused, told


def turned(session: str) -> list[dict[str, Any]]:
    """Return the recorded moves, each checked against the one before it."""
    return [record for record in told("sessions", session)["history"] if record["kind"] == "move"]


@pytest.mark.every_store
@pytest.mark.parametrize("kills", [30, pytest.param(1000, marks=pytest.mark.long)])
def test_killed_at_random_points_no_acknowledged_step_is_lost_and_none_happens_twice(kills: int) -> None:
    put_skill("round", ROUND)
    before = told("step", "round")
    session, seconds = before["session"], 0.02
    chance, acknowledged, unacknowledged, lost = random.Random(7), 0, 0, 0  # noqa: S311

    for number in range(kills):
        words = ["step", "round", "ok", "-s", f"by=n{number}", "--session", session]
        words += ["--expect", str(before["revision"]), "--json"]
        was_killed, answer = killed_after(words, chance.uniform(0, 1.5 * seconds))
        after = told("resume", session)
        moves = after["revision"] - before["revision"]
        assert moves in {0, 1}
        if is_complete(answer):
            assert moves == 1
            acknowledged += 1
        elif moves:
            unacknowledged += 1
            assert told(*words[:-1])["replayed"]
        else:
            lost += 1
        seconds = min(10.0, seconds * (1.5 if was_killed else 0.7))  # as fast as the machine is now
        before = after

    assert min(acknowledged, lost) > 0
    assert before["revision"] == acknowledged + unacknowledged == kills - lost
    facts = [record["facts"]["by"] for record in turned(session)]
    assert len(facts) == len(set(facts)) == before["revision"]
    assert flow("audit", session, "--verify").status == 0


def is_complete(answer: str) -> bool:
    """Return whether the command printed its whole answer, so that its report is acknowledged."""
    try:
        return "error" not in json.loads(answer)
    except ValueError:
        return False


@pytest.mark.every_store
@pytest.mark.parametrize(("many", "steps"), [(4, 8), pytest.param(8, 100, marks=pytest.mark.long)])
def test_many_on_one_session_each_step_counts_once_and_readers_never_see_a_half(
    many: int, steps: int
) -> None:
    put_skill("round", ROUND)
    session = told("step", "round")["session"]

    def step(name: int) -> None:
        done = 0
        while done < steps:
            shown = told("resume", session)
            words = ["step", "round", "ok", "-s", f"by=p{name}n{done}", "--session", session]
            ran = flow(*words, "--expect", str(shown["revision"]), "--json")
            if ran.status == 0:
                assert not ran.data["replayed"]
                done += 1
            else:
                assert (ran.status, ran.error["code"]) == (4, "REVISION_CONFLICT")
                assert "`ok` was reported for step `work` at " in ran.error["message"]

    def read(_: int) -> None:
        revision = -1
        while revision < many * steps:
            seen = told("resume", session)["revision"]
            assert seen >= revision
            assert len(told("sessions", session)["history"]) > seen
            revision = seen

    together([*(lambda name=name: step(name) for name in range(many)), lambda: read(0)])

    facts = [record["facts"]["by"] for record in turned(session)]
    assert len(facts) == many * steps
    assert set(facts) == {f"p{name}n{done}" for name in range(many) for done in range(steps)}
    assert told("resume", session)["revision"] == many * steps
    assert flow("audit", session, "--verify").status == 0


@pytest.mark.every_store
def test_of_many_with_equal_reports_one_moves_and_the_others_get_its_answer() -> None:
    put_skill("round", ROUND)
    begun = told("step", "round")
    words = [*begun["next"][0]["command"].split()[1:], "-s", "by=anyone"]

    def report() -> None:
        assert told(*words)["revision"] == 1

    together([report] * 6)

    assert len(turned(begun["session"])) == 1
    assert refused(*words[:-1], "by=other")[1]["code"] == "REVISION_CONFLICT"


def test_no_session_waits_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from flowrail.operations.environment import Environment

    put_skill("round", ROUND)
    held, free = (told("step", "round", "--new")["session"] for _ in range(2))
    monkeypatch.setattr("flowrail.cli.operation_command.WAIT", 0.2)

    with Environment().store.change(held):
        assert told("step", "round", "ok", "--session", free)["revision"] == 1
        assert told("resume", held)["revision"] == 0
        assert flow("audit", held, "--verify").status == 0
        begun = time.monotonic()
        status, error = refused("step", "round", "ok", "--session", held)

    assert time.monotonic() - begun < 30
    assert (status, error["code"]) == (4, "LOCKED")
    assert error["message"].startswith(f"session `{held}` is held by process {os.getpid()}")
