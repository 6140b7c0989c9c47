"""Compare how tools handle the same faults of the same procedure. Run: python benchmarks/peers/compare.py"""

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
    """A tool, its program, and the module and package that it needs."""

    name: str
    program: str
    needs: str
    package: str

    def is_installed(self) -> bool:
        """Return whether it can run."""
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


class Answer(NamedTuple):
    """The exit status and the output of a call."""

    status: int
    text: str

    @property
    def position(self) -> str:
        """The step and the attempt in the output."""
        title = re.search(
            r"· step \d+ of \d+ · (\w+)(?: · attempt (\d+))?", self.text
        )  # the first line of flowrail
        return f"{title[1].lower()} {title[2] or 1}" if title else self.text.rpartition("\n")[2]


class Run:
    """One run of the procedure in one tool."""

    def __init__(self, tool: Tool, folder: Path) -> None:
        self.tool, self.state = tool, folder / "state"

    def call(self, *words: str, expect: str = "") -> Answer:
        """Make one call as a process."""
        done = subprocess.run(self.words(*words), **self.settings(expect), check=False, timeout=60)
        return Answer(done.returncode, (done.stdout + done.stderr).strip())

    def words(self, *words: str) -> list[str]:
        """Return the command of a call."""
        runner = ["node"] if self.tool.program.endswith(".mjs") else [sys.executable, "-W", "ignore"]
        return [*runner, str(HERE / self.tool.program), str(self.state), *words]

    def settings(self, expect: str) -> dict[str, object]:
        """Return the arguments for the process; *expect* is the revision in flowrail's printed command."""
        environment = {**os.environ, "FLOW_EXPECT": f"--expect {expect}" if expect else ""}
        return {"env": environment, "capture_output": True, "text": True, "cwd": self.state.parent}


def refused(run: Run) -> str:
    """The step does not accept the reported outcome."""
    run.call("start")
    run.call("report", "ok")
    before = run.call("where").position
    answer = run.call("report", "fail")
    after = run.call("where").position
    if after != before:
        return f"taken: continues to `{after.split()[0]}`"
    return "refused" if answer.status else "silently ignored"


def resumed(run: Run) -> str:
    """The process ends between two steps; a new one continues."""
    run.call("start")
    run.call("report", "ok")
    return "continues" if run.call("where").position == "check 1" else "does not"


def repeated(run: Run) -> str:
    """The answer to a report is lost, and the agent sends it again."""
    run.call("start")
    run.call("report", "ok", expect="0")
    run.call("report", "iterate", expect="1")
    run.call("report", "iterate", expect="1")
    return "counted once" if run.call("where").position == "check 2" else "counted twice"


def raced(run: Run) -> str:
    """Two agents report different outcomes of the same step at the same time, five times."""
    accepted = []
    for number in range(ROUNDS):
        folder = run.state.parent / str(number)
        folder.mkdir()
        fresh = Run(run.tool, folder)
        fresh.call("start")
        fresh.call("report", "ok", expect="0")
        settings = {**fresh.settings("1"), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        del settings["capture_output"]
        both = [subprocess.Popen(fresh.words("report", outcome), **settings) for outcome in ("ok", "iterate")]
        for process in both:
            process.communicate(timeout=60)
        accepted.append(sum(process.returncode == 0 for process in both))
    return (
        f"one is refused, {ROUNDS} of {ROUNDS} times"
        if set(accepted) == {1}
        else f"both accepted, {accepted.count(2)} of {ROUNDS} times"
    )


def tampered(run: Run) -> str:
    """The number of attempts in the stored state is changed by one."""
    run.call("start")
    run.call("report", "ok")
    run.call("report", "iterate")
    _change(run.state)
    answer = run.call("where")
    return "noticed" if answer.status else "unnoticed" if answer.position != "check 2" else "not changed"


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
    """The current step is renamed in the definition, then `ok` is reported."""
    run.call("start")
    run.call("report", "ok")
    answer = run.call("report", "ok", "--edited")
    if answer.status:
        return f"stops: {_short(answer.text)}"
    return f"continues to `{answer.position.split()[0]}`"


def _short(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if re.search(r"flow:|Error", line)]
    last = lines[-1] if lines else text
    return (re.search(r"\[([A-Z_]+)\]$", last) or re.search(r"(?:\w+\.)*(\w+Error)", last) or ["", last])[1][
        :60
    ]


QUESTIONS: list[Callable[[Run], str]] = [resumed, refused, repeated, raced, tampered, edited]


def cost(run: Run) -> float:
    """Return the best time of a report as a process, in seconds."""
    best = 10.0**9
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            fresh = Run(run.tool, Path(folder))
            fresh.call("start")
            start = time.perf_counter()
            fresh.call("report", "ok")
            best = min(best, time.perf_counter() - start) if number else best
    return best


def main() -> None:
    """Print the table."""
    tools = [tool for tool in TOOLS if tool.is_installed()]
    for tool in TOOLS:
        if tool not in tools:
            print(f"({tool.name} is not installed)")
    print("| What happens |", " | ".join(tool.title() for tool in tools), "|")
    print("| --- |", " --- |" * len(tools))
    for question in QUESTIONS:
        cells = []
        for tool in tools:
            with tempfile.TemporaryDirectory() as folder:
                cells.append(question(Run(tool, Path(folder))))
        print(f"| {question.__doc__} |", " | ".join(cells), "|", flush=True)
    start = time.perf_counter()
    for _ in range(ROUNDS):
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    bare = (time.perf_counter() - start) / ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        ratios = [cost(Run(tool, Path(folder))) / bare for tool in tools]
    print(
        "| One report as a process, compared with starting Python |",
        " | ".join(f"x {ratio:.0f}" for ratio in ratios),
        "|",
    )


if __name__ == "__main__":
    main()
