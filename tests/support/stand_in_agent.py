"""The program that workers run instead of an agent. It knows only its prompt and the printed commands.

The prompt may contain `behave=WORD`; otherwise the program reports all steps. Some behaviours apply only to the first
run, which the folder in the first argument records.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

from flowrail.cli.main import main


def run() -> int:
    prompt = sys.stdin.read()
    memory = Path(sys.argv[1])
    behaviour = re.search(r"behave=([a-z-]+)", prompt)
    kind = behaviour[1] if behaviour else "finish"
    session = re.search(r'session="([^"]+)"', prompt)
    assert session is not None, prompt
    who = memory / (session[1] if "." in session[1] and kind == "finish" else kind)
    is_first = not who.exists()
    with who.open("a") as runs:
        runs.write(f"{os.getpid()} {os.environ['FLOW_HOST_SESSION']}\n")
    if kind == "crash" and is_first:
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hang" and is_first:
        time.sleep(600)
    if kind == "silent":
        return 0
    if kind == "quota" and is_first:
        print(f"You've hit your usage limit. usage limit reached|{int(time.time()) + 1}", flush=True)
        return 1
    if kind == "slow":
        time.sleep(8)
    if kind == "late" and is_first:  # its worker must be lost before it ends, on a busy machine too
        time.sleep(12)
    print(json.dumps({"type": "result"}))
    return steps(session[1], kind)


def steps(session: str, kind: str) -> int:
    """Report each step of a session until it ends or waits."""
    state = json.loads(flow("sessions", session, "--json").out)
    while True:
        waits = any(not question["answer"] for question in state["questions"]) or any(
            item["status"] in {"pending", "active", "waiting"} for item in state["dispatches"]
        )
        if state["status"] != "active" or waits or not state["next"]:
            return 0
        wanted = "fail" if kind == "fail" else "ok"
        offered = {item["outcome"]: item for item in state["next"]}
        chosen = offered.get(wanted) or state["next"][0]
        for check in state["evidence"] if kind != "lie" else ():
            for path in re.findall(r"\S+\.txt", check["expected"]):
                Path(path).write_text("seen\n")
        words = shlex.split(chosen["command"])[1:]
        if state["step"]["id"] == "work" and "." in session:
            words += ["-s", "answer=42"]
        for name, arg in chosen["wants"].items():
            words += ["-s", f"{name}={arg['example']}"]
        done = flow(*words, "--json")
        if done.status:
            print("All done, everything works." if kind == "lie" else done.out, flush=True)
            return 0 if kind == "lie" else 1
        state = json.loads(done.out)


class Ran(NamedTuple):
    """The result of a command."""

    status: int
    out: str


def flow(*words: str) -> Ran:
    """Run a printed command, in this process."""
    out = io.StringIO()
    with redirect_stdout(out):
        status = main(words)
    return Ran(status, out.getvalue())


if __name__ == "__main__":
    sys.exit(run())
