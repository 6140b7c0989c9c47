"""A demo in six scenes: a refused report, a killed process, a review that fails once, a killed command, a handoff, a record.

Runs the installed `flow` in a temporary project, so it leaves only a picture of the session.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PICTURE = Path(tempfile.gettempdir()) / "flowrail-demo.svg"
LINES, WIDTH = 5, 110
PUBLISH = """\
import sys, time
with open("published.txt", "a", encoding="utf-8") as file:
    file.write(sys.argv[-1] + "\\n")
print("uploading", sys.argv[-1], flush=True)
time.sleep(2)
print("published", sys.argv[-1])
"""


class Demo:
    """A temporary project, and an agent that runs the commands that `flow` prints."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.environ = {**os.environ, "XDG_STATE_HOME": str(project / "state"), "HOME": str(project)}
        self.environ["PATH"] = (
            f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        )
        for name in ("FLOW_STORE", "CLAUDE_CODE_SESSION_ID"):
            self.environ.pop(name, None)
        (project / ".git").mkdir()
        shutil.copytree(HERE / "demo" / "release", project / ".claude" / "skills" / "release")
        (project / "tools").mkdir()
        (project / "tools" / "publish.py").write_text(PUBLISH, encoding="utf-8")

    def run(self, command: str, *, refused: bool = False, shown: int = LINES) -> str:
        """Run a command, print it with the first lines of its answer, and return the answer."""
        process = self._process(command)
        out, error = (text.decode() for text in process.communicate())
        answer = out or error
        if bool(process.returncode) != refused:
            sys.exit(f"{command}\n{answer}")
        print(f"  $ {command}")
        lines = [line for line in answer.splitlines() if line.strip()]
        for line in lines[:shown]:
            print(f"    {line[:WIDTH]}{'…' if len(line) > WIDTH else ''}")
        if len(lines) > shown:
            print(f"    … {len(lines) - shown} more lines")
        print()
        return answer

    def kill(self, command: str, *, after: str = "") -> None:
        """Start a command and kill it, at once or after it has printed a word."""
        process = self._process(command)
        while after and after.encode() not in process.stdout.readline():  # type: ignore[union-attr]
            pass
        process.kill()
        process.wait()
        print(f"  $ {command}\n    Killed\n")

    def read(self, command: str) -> Any:
        """Return the answer of a command as data."""
        return json.loads(self._process(f"{command} --json").communicate()[0])

    def printed(self, session: str, outcome: str) -> str:
        """Return the command that was printed for an outcome."""
        cases = self.read(f"flow resume {session}")["next"]
        return str(next(case["command"] for case in cases if case["outcome"] == outcome))

    def _process(self, command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            shlex.split(command),
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def main() -> int:
    """Run the demo and return its exit status."""
    with tempfile.TemporaryDirectory(prefix="flowrail demo ") as folder:
        play(Demo(Path(folder)))
    return 0


def play(demo: Demo) -> None:
    """Run the six scenes."""
    changes = demo.project / "CHANGES.md"

    scene("1. The order is proved. The agent says it is done, but the changelog does not exist: refused.")
    demo.run("flow check release")
    demo.run("flow step release -p version=1.4.0 --format text")
    session = str(demo.read("flow sessions")["sessions"][0]["session"])
    report = demo.printed(session, "ok")
    demo.run(report, refused=True)

    scene("2. It writes the file. The process that reports it is killed; the same command counts once.")
    changes.write_text("## 1.4.0\n- perf\n", encoding="utf-8")
    demo.kill(report)
    demo.run(f"{report} --format text", shown=3)

    scene("3. The review finds something, so the gate sends the agent back. Then it passes.")
    demo.run(
        f'flow finding add {session} --severity MUST --text "perf: faster for whom?" --place CHANGES.md:2'
    )
    demo.run(demo.printed(session, "ok") + " --format text", shown=1)
    demo.run(demo.printed(session, "done") + " --format text", shown=4)
    changes.write_text("## 1.4.0\n- Logging in takes half as long.\n", encoding="utf-8")
    demo.run(demo.printed(session, "ok") + " --format text", shown=1)
    demo.run(f"flow finding resolve {session} F1", shown=1)
    demo.run(demo.printed(session, "ok") + " --format text", shown=1)
    demo.run(demo.printed(session, "done") + " --format text", shown=1)

    scene(
        "4. A person approves the command that publishes. It is killed while it runs, and runs once nevertheless."
    )
    digest = demo.read("flow trust release")["error"]["details"]["digest"]
    demo.run(f"flow trust release --digest {digest}", shown=1)
    demo.kill("flow run publish", after="uploading")
    demo.run("flow run publish")
    demo.run("flow run publish")
    demo.run("cat published.txt")

    scene("5. The work is done. Its result goes to another skill.")
    demo.run(f'{demo.printed(session, "ok")} -s summary="1.4.0 is published" --format text', shown=3)
    demo.run(f"flow handoff send decision-critic --session {session}", shown=4)

    scene("6. What happened, and a picture of it.")
    demo.run(f"flow sessions {session}", shown=20)
    demo.run(f"flow diagram --session {session} -o {shlex.quote(str(PICTURE))}", shown=1)
    records = demo.read(f"flow sessions {session}")["history"]
    moves = sum(record["kind"] == "move" for record in records)
    print(f"4 steps, {moves} accepted reports. Open {PICTURE} in a browser.")


def scene(title: str) -> None:
    """Print the title of a scene."""
    print(f"{title}\n")


if __name__ == "__main__":
    sys.exit(main())
