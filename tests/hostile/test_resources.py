"""A hostile document within the size limits ends within two seconds and 150 MB.

Each command runs as a process of its own with a limit on its processor time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.forged import folder_of, sealed
from support.handing import forged
from support.sandbox import clean_environment, put_skill, told

from flowrail.handoff.handoff import Handoff
from flowrail.storage.records import to_plain
from flowrail.text import limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

MEASURED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
from flowrail.cli.main import main
status = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
sys.stderr.write(f"\\npeak {peak} {status}")
"""
MOST = 150_000  # kB


def measured(*words: str) -> tuple[int, int]:
    """Return the most memory in kB that a command used, and its exit status."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words],
        env=clean_environment(), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    peak, status = done.stderr.rpartition("\npeak ")[2].split()
    return int(peak), int(status)


CHOICES = (
    f"name: evil\nparams: {{a: {{default: c1, choices: [{', '.join(f'c{n}' for n in range(9_900))}]}}}}\n"
    "steps: [{id: a, title: A, actions: [x], next: {ok: null}, rules: ["
    + ", ".join(f"{{if: \"a == 'x{n}'\", outcome: ok}}" for n in range(1_900))
    + ", {outcome: ok}]}]\n"
)
CONDITIONS = (
    "name: evil\nparams: {p: {type: integer, default: 1}}\nsteps:\n"
    + "".join(
        f"- {{id: s{n}, title: '{f'$f{n - 1}' if n % 2 else 'A'}', actions: [x], {'' if n % 2 else f'when: p == {n}, '}"
        f"reports: {{f{n}: {{required: true}}}}, next: {{ok: s{n + 1}}}}}\n"
        for n in range(1, 900)
    )
    + "- {id: s900, title: A, actions: [x], next: {ok: null}}\n"
)
EXPRESSIONS = (
    "name: evil\nparams: {p: {type: integer, default: 1}}\nsteps: [{id: a, title: A, actions: [x], next: {ok: null}, rules: ["
    + ", ".join(f"{{if: {' or '.join(f'p == {n + k}' for n in range(42))}, outcome: ok}}" for k in range(500))
    + ", {outcome: ok}]}]\n"
)
GUARDED = (
    f"name: evil\nparams: {{{', '.join(f'p{n}: {{default: x}}' for n in range(500))}}}\nsteps:\n"
    + "".join(
        f"- {{id: s{n}, title: A, actions: ['$f{n} $f0'], variants: [{{when: \"p{n} == 'x'\", actions: ['$f1 $f2']}}], "
        f"reports: {{f{n}: {{required: true}}}}, next: {{ok: s{n + 1}, fail: s500}}}}\n"
        for n in range(500)
    )
    + "- {id: s500, title: A, actions: [x], next: {ok: null}}\n"
)
MISSHAPEN = (
    f"name: evil\nparams: {{a: {{choices: [{'[], ' * 9_000}], default: [{'{}, ' * 9_000}]}}}}\n"
    "steps: [{id: a, title: A, actions: [x], next: {ok: null}}]\n"
)
JOINED = f"T='{'x' * 60_000}'\nA=T+T+T+T\nL=[{'A+A,' * 6_000}]\nWORKFLOW=Workflow('evil',StepDef('a','A',L,next={{}}))\n"
ASKING_MUCH = (
    f"def f(c,{','.join(f'a{n}:int' for n in range(3_000))}):pass\n"
    f"WORKFLOW=Workflow('evil',{','.join(f'StepDef(`a{n}`,`A`,[`x`],f,next={{}})' for n in range(1_500))})\n"
).replace("`", "'")


UNKNOWN_STEPS = "name: evil\nsteps:\n" + "".join(
    f"- {{id: {'a' * 30}{n:04}, title: A, actions: [x], next: {{ok: {'a' * 30}x{n:03}}}}}\n"
    for n in range(1_900)
)


def filled(piece: str, size: int = limits.YAML_BYTES) -> str:
    """Return *piece* repeated up to *size* bytes."""
    return piece * (size // len(piece))


DOCUMENTS: dict[str, tuple[str, str]] = {
    "YAML nested": ("workflow.yaml", filled("[")),
    "YAML of many values": ("workflow.yaml", "a: [" + filled("1,")[:-6] + "]"),
    "YAML of many steps": ("workflow.yaml", "steps:\n" + "  - {}\n" * 9_900),
    "YAML of choices": ("workflow.yaml", CHOICES),
    "YAML of conditions": ("workflow.yaml", CONDITIONS),
    "YAML of long expressions": ("workflow.yaml", EXPRESSIONS),
    "YAML of conditions and facts": ("workflow.yaml", GUARDED),
    "YAML of wrong types": ("workflow.yaml", MISSHAPEN),
    "YAML of unknown steps": ("workflow.yaml", UNKNOWN_STEPS),
    "Python of many calls": ("workflow.py", filled("f(1)\n", 131_000)),
    "Python of joined texts": ("workflow.py", JOINED),
    "Python of a handler with many arguments": ("workflow.py", ASKING_MUCH),
    "a SKILL.md of many keys": ("SKILL.md", "---\n" + "a: b\n" * 13_000),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_skill_ends_in_two_seconds_and_150_mb(name: str) -> None:
    folder = put_skill("evil")
    path, content = DOCUMENTS[name]
    if path == "workflow.py":
        (folder / "workflow.yaml").unlink()
    (folder / path).write_text(content)

    peak, status = measured("check", "evil")

    assert peak < MOST
    assert status in {0, 1, 2}


@pytest.mark.parametrize(
    "content",
    ["[" * 900_000, "[" + "[]," * 300_000 + "[]]", '{"handoff": {"a": ['],
    ids=["nested", "many lists", "cut off"],
)
def test_a_hostile_payload_ends_in_two_seconds_and_150_mb(content: str) -> None:
    put_skill("evil")
    Path("payload").write_text(content)

    for words in (("handoff", "validate", "payload"), ("step", "evil", "ok", "--facts", "payload")):
        peak, status = measured(*words)
        assert peak < MOST, words
        assert status in {1, 2, 4}


def test_a_hostile_store_ends_in_two_seconds_and_150_mb() -> None:
    put_skill("evil")
    session = str(told("start", "evil")["session"])
    folder = folder_of(session)
    last = json.loads((folder / "journal.jsonl").read_bytes())
    last.pop("hash"), last.pop("mac", None)
    last["session"] |= {"params": dict.fromkeys((f"k{n}" for n in range(60_000)), ())}
    (folder / "journal.jsonl").write_bytes(sealed(last))
    (folder / "session.json").write_text('{"seq": 0, "hash": "x", "session": [' + "[]," * 1_300_000 + "1]}")
    Path(".flow/handoffs").mkdir(mode=0o700, exist_ok=True)
    moment = "2026-02-04T10:00:00Z"
    handoff = {**to_plain(Handoff("", "a", "b", started_at=moment)), "draft": {"a": [[]] * 50_000}}
    parts = {"kind": "x", "at": moment, "by": "", "note": {}, "handoff": handoff, "prev": ""}
    forged(0, ({"seq": number, **parts} for number in range(4)))

    for words in (
        ("sessions", "--all"),
        ("history", session),
        ("session", "verify"),
        ("audit", "verify"),
        ("session", "adopt", session),
        ("history", session),
    ):
        peak, status = measured(*words)
        assert peak < MOST, words
        assert status in {0, 1, 3, 7}


def test_a_file_of_three_gigabytes_is_refused_unread() -> None:
    folder = put_skill("evil")
    with (folder / "workflow.yaml").open("wb") as file:
        file.truncate(3_000_000_000)

    peak, status = measured("check", "evil")

    assert peak < MOST
    assert status == 1
