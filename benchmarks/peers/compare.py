"""The same procedure in six tools: what happens when something goes wrong. Run: python benchmarks/peers/compare.py"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROUNDS = 5


class Tool(NamedTuple):
    """A tool, its program, and what must be there for it."""

    name: str
    program: str
    needs: str
    package: str

    def there(self) -> bool:
        """Tell whether it can be run here."""
        if self.program.endswith(".mjs"):
            return shutil.which("node") is not None and (HERE / "node_modules" / self.needs).exists()
        return importlib.util.find_spec(self.needs) is not None

    def title(self) -> str:
        """Return its name and version."""
        if self.program.endswith(".mjs"):
            package = HERE / "node_modules" / self.needs / "package.json"
            return f"{self.name} {json.loads(package.read_text())['version']}"
        return f"{self.name} {version(self.package)}"


TOOLS = [
    Tool("flowrail", "flowrail_agent.py", "flowrail", "flowrail"),
    Tool("LangGraph", "langgraph_agent.py", "langgraph", "langgraph"),
    Tool("Burr", "burr_agent.py", "burr", "apache-burr"),
    Tool("transitions", "transitions_agent.py", "transitions", "transitions"),
    Tool("XState", "xstate_agent.mjs", "xstate", "xstate"),
]


class Said(NamedTuple):
    """What a call came to."""

    status: int
    text: str

    @property
    def place(self) -> str:
        """The step and the visit, where both were told."""
        title = re.search(
            r"· step \d+ of \d+ · (\w+)(?: · visit (\d+))?", self.text
        )  # (flowrail's first line)
        return f"{title[1].lower()} {title[2] or 1}" if title else self.text.rpartition("\n")[2]


class Run:
    """One run of the procedure in one tool."""

    def __init__(self, tool: Tool, folder: Path) -> None:
        self.tool, self.state = tool, folder / "state"

    def call(self, *words: str, expect: str = "") -> Said:
        """Make one call as a process of its own."""
        done = subprocess.run(self.words(*words), **self.settings(expect), check=False, timeout=60)
        return Said(done.returncode, (done.stdout + done.stderr).strip())

    def words(self, *words: str) -> list[str]:
        """Return the command of a call."""
        runner = ["node"] if self.tool.program.endswith(".mjs") else [sys.executable, "-W", "ignore"]
        return [*runner, str(HERE / self.tool.program), str(self.state), *words]

    def settings(self, expect: str) -> dict[str, object]:
        """Return how the process is started; *expect* is what flowrail's printed command holds."""
        environment = {**os.environ, "FLOW_EXPECT": f"--expect {expect}" if expect else ""}
        return {"env": environment, "capture_output": True, "text": True, "cwd": self.state.parent}


def refused(run: Run) -> str:
    """An outcome that is not open is reported."""
    run.call("start")
    run.call("report", "ok")
    before = run.call("where").place
    said = run.call("report", "fail")
    after = run.call("where").place
    if after != before:
        return f"taken: it goes on to `{after.split()[0]}`"
    return "refused" if said.status else "ignored in silence"


def resumed(run: Run) -> str:
    """The process ends between two steps, a new one goes on."""
    run.call("start")
    run.call("report", "ok")
    return "goes on" if run.call("where").place == "check 1" else "does not"


def repeated(run: Run) -> str:
    """The answer to a report is lost, and the agent sends it again."""
    run.call("start")
    run.call("report", "ok", expect="0")
    run.call("report", "iterate", expect="1")
    run.call("report", "iterate", expect="1")
    return "counted once" if run.call("where").place == "check 2" else "counted twice"


def raced(run: Run) -> str:
    """Two agents report different outcomes of the same step at the same time, five times over."""
    told = []
    for number in range(ROUNDS):
        folder = run.state.parent / str(number)
        folder.mkdir()
        fresh = Run(run.tool, folder)
        fresh.call("start")
        fresh.call("report", "ok", expect="0")
        settings = {**fresh.settings("1"), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        del settings["capture_output"]
        both = [subprocess.Popen(fresh.words("report", outcome), **settings) for outcome in ("ok", "iterate")]
        for each in both:
            each.communicate(timeout=60)
        told.append(sum(each.returncode == 0 for each in both))
    return (
        f"one is refused, {ROUNDS} of {ROUNDS} times"
        if set(told) == {1}
        else f"both are accepted, {told.count(2)} of {ROUNDS} times"
    )


def tampered(run: Run) -> str:
    """The number of rounds in the stored state is changed by one."""
    run.call("start")
    run.call("report", "ok")
    run.call("report", "iterate")
    _change(run.state)
    said = run.call("where")
    return "noticed" if said.status else "unnoticed" if said.place != "check 2" else "not changed"


def _change(state: Path) -> None:
    if state.is_dir():
        journal = next(state.glob("store/sessions/*/journal.jsonl"))
        lines = journal.read_bytes().splitlines(keepends=True)
        lines[-1] = lines[-1].replace(b'"check":2', b'"check":1')
        journal.write_bytes(b"".join(lines))
    elif state.read_bytes().startswith(b"SQLite"):
        with sqlite3.connect(state) as connection:
            for table, column in (("checkpoints", "checkpoint"), ("burr", "state")):
                try:
                    rows = connection.execute(f"select rowid, {column} from {table}").fetchall()
                    for row, value in rows:
                        data = value if isinstance(value, bytes) else value.encode()
                        new = data.replace(b"\xa6rounds\x01", b"\xa6rounds\x00").replace(
                            b'"rounds": 1', b'"rounds": 0'
                        )
                        connection.execute(
                            f"update {table} set {column} = ? where rowid = ?",
                            (new if isinstance(value, bytes) else new.decode(), row),
                        )
                except sqlite3.OperationalError:
                    continue
    else:
        state.write_text(re.sub(r'("rounds": ?)1', r"\g<1>0", state.read_text()))


def edited(run: Run) -> str:
    """The step where it stands is renamed in the definition, then `ok` is reported."""
    run.call("start")
    run.call("report", "ok")
    said = run.call("report", "ok", "--edited")
    if said.status:
        return f"stops: {_short(said.text)}"
    return f"goes on to `{said.place.split()[0]}`"


def _short(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if re.search(r"flow:|Error", line)]
    last = lines[-1] if lines else text
    return (re.search(r"\[([A-Z_]+)\]$", last) or re.search(r"(?:\w+\.)*(\w+Error)", last) or ["", last])[1][
        :60
    ]


QUESTIONS: list[Callable[[Run], str]] = [resumed, refused, repeated, raced, tampered, edited]


def cost(run: Run) -> float:
    """Return how long a report takes as a process, at best."""
    best = 10.0**9
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            fresh = Run(run.tool, Path(folder))
            fresh.call("start")
            begun = time.perf_counter()
            fresh.call("report", "ok")
            best = min(best, time.perf_counter() - begun) if number else best
    return best


def main() -> None:
    """Print one table."""
    tools = [tool for tool in TOOLS if tool.there()]
    for tool in TOOLS:
        if tool not in tools:
            print(f"({tool.name} is not installed and is left out)")
    print("| What happens |", " | ".join(tool.title() for tool in tools), "|")
    print("| --- |", " --- |" * len(tools))
    for question in QUESTIONS:
        cells = []
        for tool in tools:
            with tempfile.TemporaryDirectory() as folder:
                cells.append(question(Run(tool, Path(folder))))
        print(f"| {question.__doc__} |", " | ".join(cells), "|", flush=True)
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    bare = (time.perf_counter() - begun) / ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        ratios = [cost(Run(tool, Path(folder))) / bare for tool in tools]
    print(
        "| One report as a process, over a bare Python interpreter |",
        " | ".join(f"x {each:.0f}" for each in ratios),
        "|",
    )


if __name__ == "__main__":
    main()
