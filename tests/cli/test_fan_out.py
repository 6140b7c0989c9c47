"""Many agents in processes of their own: nothing is lost, nothing counts twice, and a dead agent is replaced."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from support.dispatching_skill import ONE
from support.sandbox import put_skill, told

PIECES, PROCESSES = 12, 4

WIDE = """\
name: NAME
params: {areas: {type: list, required: true}}
steps:
  - id: look
    title: Look
    actions: [Look.]
    dispatch: {agent: explore, run: NAME/one, over: areas, vars: {area: $item}, lease: 2}
    next: {ok: tell}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""

AGENT = """
import contextlib, io, json, os, sys, time
from flowrail.cli.main import main

def flow(words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = main([*words, "--json"])
    assert status in (0, 4), (words, status, out.getvalue())
    return status, json.loads(out.getvalue())

session, store, name, dies = sys.argv[1:]
while True:
    _, here = flow(["status", session, "--store", store])
    left = [each for each in here["dispatches"] if each["status"] != "done"]
    if not left:
        break
    for each in left[hash(name) % len(left):] + left[:hash(name) % len(left)]:
        status, mine = flow([*each["command"].split()[1:], "--as", name])
        if status == 4:
            continue
        if dies == "dies":
            print("claimed", each["id"], flush=True)
            time.sleep(60)
        _, mine = flow(mine["next"][0]["command"].split()[1:])
        flow([*mine["next"][0]["command"].split()[1:], "-s", "found=" + each["item"] + " by " + name])
        break
    else:
        time.sleep(0.2)
"""
"""What an agent does, in a process of its own: take what is left, do it, until nothing is."""


def test_the_work_of_an_agent_that_is_killed_is_done_by_another(tmp_path: Path) -> None:
    put_skill("wide", WIDE, texts={"workflows/one.yaml": ONE})
    areas = [f"area-{number}" for number in range(PIECES)]
    begun = told("start", "wide", "-p", f"areas={json.dumps(areas)}")
    store = str(Path.cwd() / ".flow")

    def agent(name: str, dies: str = "lives") -> subprocess.Popen[str]:
        words = [begun["session"], store, name, dies]
        return subprocess.Popen(
            [sys.executable, "-c", AGENT, *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )

    victim = agent("victim", "dies")
    assert victim.stdout is not None
    lost = victim.stdout.readline().split()[1]
    others = [agent(f"agent-{number}") for number in range(1, PROCESSES)]
    time.sleep(0.1)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    for each in others:
        each.communicate(timeout=120)

    here = told("resume", begun["session"])
    assert [each.returncode for each in others] == [0] * (PROCESSES - 1)
    assert here["join"] == {"needed": PIECES, "succeeded": PIECES, "total": PIECES, "open": [], "met": True}
    for area, each in zip(areas, here["dispatches"], strict=True):
        assert each["result"]["found"].startswith(f"{area} by agent-")
    sessions = told("sessions", "--all")["sessions"]
    children = Counter(each["status"] for each in sessions if each["session"] != begun["session"])
    assert children == {"completed": PIECES, "active": 1}
    claims = Counter(
        step["note"]["dispatch"]
        for step in told("history", begun["session"])["steps"]
        if step["kind"] == "claim"
    )
    assert claims == {each["id"]: 2 if each["id"] == lost else 1 for each in here["dispatches"]}
    assert told(*here["next"][0]["command"].split()[1:])["step"]["id"] == "tell"
