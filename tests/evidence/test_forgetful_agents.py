"""A stock-taking by agents that forget everything after each command: what may happen once happens once."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.sandbox import allow, put_skill, told

EFFECT = """\
import random, sys
with open("effects", "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
print("counted", random.randint(1, 9999))
"""
STEP = """\
  - id: {name}
    title: {title} $house
    actions: ["{title} $house with `flow run {name}`. It must happen once."]
    commands: {{{name}: {{run: [PYTHON, tools/do.py, {name}, --, $house], once: true{facts}}}}}
    evidence: {{ok: [{{id: done, command: {name}}}]}}{reports}
    next: {{ok: {next}}}
"""
FACTS = ', facts: {number: {match: "counted (\\\\d+)"}}'
ACTIONS = ("freeze", "first", "second", "book", "thaw")


def put_stock_taking() -> None:
    steps = []
    for name, after in zip(ACTIONS, (*ACTIONS[1:], "null"), strict=True):
        is_count = name in {"first", "second"}
        reports = (
            f"\n    reports: {{{name}_count: {{type: integer, from: {name}.number}}}}" if is_count else ""
        )
        facts = FACTS if is_count else ""
        steps.append(STEP.format(name=name, title=name.title(), facts=facts, reports=reports, next=after))
    house = "name: NAME/house\nparams: {house: {type: string, required: true, example: elm}}\nsteps:\n"
    whole = """\
name: NAME
params: {houses: {type: list, required: true, example: [elm]}}
steps:
  - id: take
    title: Take stock
    actions: [Have each house counted and booked.]
    dispatch: {agent: explore, workflow: NAME/house, over: houses, vars: {house: $item}}
    next: {ok: null}
"""
    text = (house + "".join(steps)).replace("PYTHON", sys.executable)
    put_skill("stock", whole, texts={"workflows/house.yaml": text})
    Path("tools").mkdir()
    Path("tools/do.py").write_text(EFFECT)
    allow("stock")


def act(session: str, chance: random.Random) -> bool:
    """Do one command as an agent that knows only what `flow resume` prints; return whether the session is open.

    It does not know whether it ran the step's command, so it often runs it again before it reports.
    """
    shown = told("resume", session)
    if shown["status"] != "active":
        return False
    (command,) = shown["commands"]
    has_evidence = all(check["verdict"] == "pass" for check in shown["evidence"])
    if not has_evidence or chance.random() < 0.5:
        told("run", command["name"], "--session", session)
    else:
        told("step", "stock/house", shown["next"][0]["outcome"], "--session", session)
    return True


@pytest.mark.parametrize("houses", [2, pytest.param(6, marks=pytest.mark.long)])
def test_nothing_is_done_twice_and_nobody_is_asked_although_each_agent_forgets(houses: int) -> None:
    put_stock_taking()
    chance = random.Random(houses)  # noqa: S311
    names = [f"house{number}" for number in range(houses)]
    session = told("step", "stock", "--new", "-p", f"houses={','.join(names)}")["session"]
    children = [item["child"] for item in told("step", "--session", session)["dispatches"]]
    for child in children:
        told("step", "--session", child)
    working = list(children)

    while working:
        child = chance.choice(working)
        if not act(child, chance):
            working.remove(child)

    effects = Counter(Path("effects").read_text().splitlines())
    assert effects == Counter({f"{action} -- {name}": 1 for action in ACTIONS for name in names})
    for child in children:
        history = told("sessions", child)["history"]
        facts = {name for entry in history for name in entry.get("facts") or {}}
        assert not {"ask", "answer"} & {entry["kind"] for entry in history}
        assert facts == {"first_count", "second_count"}
    assert told("step", "stock", "ok", "--session", session)["status"] == "completed"
