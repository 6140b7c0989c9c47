"""Walks check every answer: each kind of problem is named, and a good answer has none."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import ASKING, put_skill

from flowrail.command import Command
from flowrail.discovery.locations import skill_roots
from flowrail.machines.session_store import Store
from flowrail.operations.environment import Environment
from flowrail.skills.loader import Loader
from flowrail.storage.user_mark import Owner
from flowrail.testing.walks import rules
from flowrail.testing.walks.stage import Reply, Stage


@pytest.fixture
def reply(tmp_path: Path) -> Reply:
    """The answer to the start of a session."""
    put_skill("asking", ASKING)
    roots = skill_roots(os.getcwd(), os.environ["HOME"], os.environ)
    store = Store(str(tmp_path / "store"), Owner(str(tmp_path / "state")))
    world = Environment().replaced(store=store, loader=Loader(roots, str(tmp_path / "state")))
    return Stage(world).run(Command("step", "asking", new=True))


def set_value(*path: Any) -> Callable[[Any], None]:
    *parents, key, value = path

    def change(data: Any) -> None:
        for part in parents:
            data = data[part]
        data[key] = value

    return change


BROKEN = {
    "no instructions": set_value("actions", ["  "]),
    "no title": set_value("step", "title", " "),
    "session is completed and is at `look`": set_value("status", "completed"),
    "prints no next command": set_value("next", []),
}


@pytest.mark.parametrize("wrong", BROKEN)
def test_each_problem_of_an_answer_is_named(wrong: str, reply: Reply) -> None:
    data = copy.deepcopy(dict(reply.data))
    BROKEN[wrong](data)

    assert list(rules.problems(reply)) == []
    assert any(wrong in problem for problem in rules.problems(replace(reply, data=data)))


TRANSITION = {"outcome": "ok", "to": "b", "ends": False}


@pytest.mark.parametrize(
    ("transition", "after", "wrong"),
    [
        (TRANSITION, {"revision": 1, "status": "active", "step": {"id": "b"}}, ""),
        (TRANSITION, {"revision": 1, "status": "active", "step": {"id": "c"}}, "lead to `b` but led to `c`"),
        (TRANSITION, {"revision": 1, "status": "completed", "step": None}, "led to the end"),
        (
            {**TRANSITION, "to": None, "ends": True},
            {"revision": 1, "status": "active", "step": {"id": "b"}},
            "end the session",
        ),
        (TRANSITION, {"revision": 0, "status": "active", "step": {"id": "a"}}, "did not move the session"),
        (TRANSITION, {"revision": 0, "status": "waiting", "step": {"id": "a"}}, ""),
    ],
)
def test_a_transition_must_lead_where_it_was_announced(transition: Any, after: Any, wrong: str) -> None:
    problems = list(rules.transition_problems(transition, after, {"revision": 0}))

    assert bool(problems) == bool(wrong)
    assert wrong in "".join(problems)
