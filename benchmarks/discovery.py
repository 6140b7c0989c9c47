"""Measure discovery, compared with reading the heads of the same files, and with a bare interpreter.

Run: python benchmarks/discovery.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import best_of, report

from flowrail.discovery.index import Discovery, discover

SIZES = {50: 20, 1_000: 7, 10_000: 3}  # skills, and rounds
AIMS = {"discover": 10.0}
HEAD_BYTES = 8_192
BODY = "Some text that discovery does not read.\n" * 100
DESCRIPTION = (
    "Plans and carries out projects. Use it if a team needs a plan, or to implement a specification."
)
HANDOFF = """\
handoff:
  accepts_handoff: true
  handoff_categories: [implementation, architecture]
  handoff_description: "Software implementation (2-8 hours)"
  handoff_trigger: "--handoff {payload_path}"
"""
PEAK = """
import os, resource
def peak():  # in kB; on Linux, `getrusage` includes the parent process
    if os.path.exists("/proc/self/status"):
        return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
"""
CODE = """
import sys
from flowrail.discovery.index import discover
found = discover(sys.argv[1], sys.argv[1], {})
assert found.skills == int(sys.argv[2])
"""


def main() -> None:
    """Print the ratios."""
    for size, rounds in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            _compare(Path(folder), size, rounds)


def _compare(home: Path, size: int, rounds: int) -> None:
    paths = [_skill(home / ".claude/skills", number) for number in range(size)]
    best = best_of(
        {
            "heads": lambda: _heads(paths),
            "discover": lambda: _found(home),
        },
        rounds=rounds,
    )
    report(f"{size} skills, one in five accepts handoffs", best, "heads", AIMS if size == 1_000 else {})
    print(
        f"  memory, more than a bare interpreter: {_memory(home, size) / 1024:.1f} MB (aim at 1,000 skills: at most 10)"
    )
    _process(home, size, rounds)


def _process(home: Path, size: int, rounds: int) -> None:
    """Print the times of a process, of which only the difference to a bare interpreter counts."""
    best = best_of(
        {
            "python -c pass": lambda: _run("pass"),
            "a process that discovers": lambda: _run(CODE, str(home), str(size)),
            "flow discover": lambda: _command(home),
        },
        rounds=rounds,
    )
    report("A process", best, "python -c pass", {})
    over = (best["flow discover"] - best["python -c pass"]) * 1e3
    print(f"  flow discover, more than a bare interpreter: {over:.0f} ms (aim at 50 skills: at most 60)")


def _skill(root: Path, number: int) -> str:
    path = root / f"skill-{number}/SKILL.md"
    path.parent.mkdir(parents=True)
    more = HANDOFF if number % 5 == 0 else "allowed-tools: Read Bash\n"
    path.write_text(f"---\nname: skill-{number}\ndescription: {DESCRIPTION}\n{more}---\n\n# Title\n\n{BODY}")
    return str(path)


def _heads(paths: list[str]) -> None:
    for path in paths:
        with open(path, "rb") as file:
            file.read(HEAD_BYTES)


def _found(home: Path) -> Discovery:
    return discover(str(home), str(home), {})


def _memory(home: Path, size: int) -> int:
    """Return the memory that discovery needs more than a bare interpreter, in kB."""
    discovering = _run(f"{PEAK}{CODE}print(peak())", str(home), str(size))
    return int(discovering) - int(_run(f"{PEAK}print(peak())"))


def _command(home: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    command = [sys.executable, "-m", "flowrail", "discover"]
    subprocess.run(command, check=True, capture_output=True, cwd=home, env=environ)


def _run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout


if __name__ == "__main__":
    main()
