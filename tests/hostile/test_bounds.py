"""The heaviest of what a stranger can give takes little memory, as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.hostile_files import ODD
from support.sandbox import clean_environment, put_skill

from flowrail.machines.literal import MOST_PIECES

MEASURED = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
from flowrail.cli.main import main
status = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
sys.stderr.write(f"\\npeak {peak} {status}")
"""
MOST = 100_000  # kB: what Python, PyYAML, pydantic and the rest take by themselves is near 36,000


def measured(words: Sequence[str]) -> tuple[int, int]:
    """Return the most memory in kB that a command took as a process, and its exit status."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words],
        env=clean_environment(), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    peak, status = done.stderr.rpartition("\npeak ")[2].split()
    return int(peak), int(status)


def python(piece: str, size: int = 131_000) -> Callable[[Path], object]:
    return lambda folder: (folder / "workflow.py").write_text(piece * (size // len(piece)))


def text(path: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / path).write_text(content)


HEAVY: dict[str, Callable[[Path], object]] = {
    "Python of small statements": python("x=1\n"),
    "Python of calls": python("f(1)\n"),
    "Python of names": python("a;"),
    "Python of as many names as are read": python("a;", MOST_PIECES - 10),
    "Python of as many calls as are read": python("f(1)\n", MOST_PIECES - 10),
    "Python too large": python("f(1)\n", 4_000_000),
    "YAML of entries": text("workflow.yaml", "a: [" + "1," * 400_000 + "]\n"),
    "YAML of lines": text("workflow.yaml", "\n" * 999_000),
    "YAML nested": text("workflow.yaml", "[" * 999_000),
    "YAML of a long text": text("workflow.yaml", "a: " + "b " * 499_000),
    "a card of keys": text("SKILL.md", "---\n" + "a: b\n" * 13_000),
    "YAML of values": text("workflow.yaml", "steps: [" + "ab," * 19_900 + "]\n"),
    "YAML of steps": text("workflow.yaml", "steps:\n" + "  - {}\n" * 9_900),
    "three gigabytes": lambda folder: ODD["three gigabytes of nothing"](folder / "workflow.yaml"),
    "three gigabytes of a card": lambda folder: ODD["three gigabytes of nothing"](folder / "CARD"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", HEAVY)
def test_the_heaviest_documents_take_little_memory(what: str) -> None:
    folder = put_skill("evil")
    if what == "three gigabytes":
        (folder / "workflow.yaml").unlink()
    if what.startswith("Python"):
        (folder / "workflow.yaml").unlink()
    HEAVY[what](folder)
    if (folder / "CARD").exists():
        (folder / "CARD").replace(folder / "SKILL.md")

    for words in (
        (["check", "evil"], ["discover", "--all", "--json"]) if "card" in what else (["check", "evil"],)
    ):
        peak, status = measured(words)
        assert peak < MOST, words
        assert status in {0, 1, 2}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_hostile_payload_and_facts_take_little_memory() -> None:
    put_skill("evil")
    settings = Path(".claude/settings.json")
    settings.write_text(json.dumps({"a": "x" * 990_000}))
    Path("many").write_text("[" + "[]," * 330_000 + "[]]")
    Path("payload").write_text(json.dumps({"handoff": {"version": "3.0", "a": ["x"] * 190_000}}))
    Path("deep").write_text("[" * 999_000)
    ODD["three gigabytes of nothing"](Path("huge"))

    for file in ("payload", "deep", "huge"):
        for words in (["handoff", "validate", file], ["step", "evil", "ok", "--facts", file]):
            peak, status = measured(words)
            assert peak < MOST, words
            assert status in {1, 2, 4}
    for content in (settings.read_text(), Path("many").read_text(), "/*" * 400_000, "{" + "//x\n" * 200_000):
        settings.write_text(content)
        peak, _ = measured(["hook", "install", "--dry-run"])
        assert peak < MOST, content[:40]
