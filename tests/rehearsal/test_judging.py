"""What is wrong with an answer is named, whatever it is; an answer in order has nothing."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import ASKING, flow, project_skills, put_skill

from flowrail.discovery.locations import skill_roots
from flowrail.machines.sessions.store import Store
from flowrail.machines.sessions.user_key import Owner
from flowrail.operations.running.steps import World
from flowrail.testing.walks import rules
from flowrail.testing.walks.stage import Inside, Reply


def stage(tmp_path: Path) -> Inside:
    put_skill("asking", ASKING)
    roots = skill_roots(os.getcwd(), os.environ["HOME"], os.environ)
    store = Store(str(tmp_path / "store"), Owner(str(tmp_path / "state")))
    return Inside(World(store, roots, str(tmp_path / "state"), lambda: "2026-01-02T12:00:00.000Z", "test"))


def first(tmp_path: Path) -> tuple[Reply, Any]:
    on = stage(tmp_path)
    return on.run(["start", "asking"]), on.workflow("asking")


def test_an_answer_in_order_has_nothing_wrong(tmp_path: Path) -> None:
    reply, workflow = first(tmp_path)

    assert list(rules.problems(reply, workflow)) == []
    assert list(rules.differs(reply, reply)) == []


def _set(*path: Any) -> Callable[[Any], None]:
    *where, key, value = path

    def change(data: Any) -> None:
        for part in where:
            data = data[part]
        data[key] = value

    return change


LINE = "flow step asking done --session {session} --expect 0"
SPOILT = {
    "lacks next": lambda data: data.pop("next"),
    "tells nothing": _set("actions", ["  "]),
    "no title": _set("step", "title", " "),
    "session is completed and stands at `look`": _set("status", "completed"),
    "reports a step where there is none": _set("step", None),
    "nothing leads on": _set("next", []),
    "more than plain words": _set("next", 0, "command", "flow step asking done; rm x"),
    "does not start with `flow`": _set("next", 0, "command", "step asking"),
    "runs no command that a step prints": _set("next", 0, "command", "flow untrust asking"),
    "another session": _set("next", 0, "command", "flow step asking done --session x --expect 0"),
    "does not name revision 0": _set("next", 0, "command", "flow step asking done --session x"),
    "no way on of step `look`": _set("next", 0, "command", "flow step asking skip --session x --expect 0"),
    "which step `look` does not take": _set(
        "next", 0, "command", "flow step asking done -s odd=1 --session x"
    ),
    "not those in the JSON": _set("next", 0, "command", "flow step asking done --session x --expect 0"),
    "the text lacks the command": _set("next", 0, "command", "flow step asking done --session x --expect 0"),
    "names another session": _set("session", "another"),
}


@pytest.mark.parametrize("wrong", SPOILT)
def test_what_is_wrong_with_an_answer_is_named(wrong: str, tmp_path: Path) -> None:
    reply, workflow = first(tmp_path)
    data = copy.deepcopy(dict(reply.data))
    SPOILT[wrong](data)

    found = list(rules.problems(reply._replace(data=data), workflow))

    assert any(wrong in each for each in found), found


def test_a_refusal_and_broken_xml_are_named(tmp_path: Path) -> None:
    reply, workflow = first(tmp_path)
    refused = Reply(("step",), 4, {"error": {"code": "CONFLICT", "message": "no", "hint": ""}})

    assert list(rules.problems(refused, workflow)) == ["exit status 4: no [CONFLICT]"]
    assert list(rules.differs(reply, refused)) == ["shown again: exit status 4: no [CONFLICT]"]
    (broken,) = rules.problems(reply._replace(xml="<a>"), workflow)
    assert "not well formed" in broken


def test_more_may_be_told_when_a_step_is_shown_again_and_nothing_else(tmp_path: Path) -> None:
    reply, _ = first(tmp_path)
    more = reply._replace(data={**reply.data, "actions": [*reply.data["actions"], "more"], "resumed": True})
    other = reply._replace(data={**reply.data, "revision": 1})

    assert list(rules.differs(reply, more)) == []
    assert list(rules.differs(reply, other)) == ["shown again, `revision` is another"]


WAY = {"outcome": "ok", "to": "b", "ends": False}


@pytest.mark.parametrize(
    ("way", "after", "wrong"),
    [
        (WAY, {"revision": 1, "status": "active", "step": {"id": "b"}}, ""),
        (WAY, {"revision": 1, "status": "active", "step": {"id": "c"}}, "lead to `b` and led to `c`"),
        (WAY, {"revision": 1, "status": "completed", "step": None}, "led to the end"),
        (
            {**WAY, "to": None, "ends": True},
            {"revision": 1, "status": "active", "step": {"id": "b"}},
            "end the run",
        ),
        (WAY, {"revision": 0, "status": "active", "step": {"id": "a"}}, "moved nothing"),
        (WAY, {"revision": 0, "status": "waiting", "step": {"id": "a"}}, ""),
    ],
)
def test_a_way_leads_where_it_is_said_to(way: Any, after: Any, wrong: str) -> None:
    found = list(rules.landed(way, after, {"revision": 0}))

    assert bool(found) == bool(wrong)
    assert wrong in "".join(found)


def test_a_long_value_is_no_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: object) -> None:
        raise AssertionError("takes a second for 400,000 characters, for every command of every walk")

    monkeypatch.setattr("shlex.shlex.read_token", unexpected)
    value = "a b" * 80_000
    put_skill("asking", ASKING.replace("[low, high]", f"['{value}', high]"))
    assert value in (project_skills() / "asking" / "workflow.yaml").read_text()

    assert flow("test", "asking").status == 0
