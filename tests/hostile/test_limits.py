"""A hostile document within the size limits costs a second or two and 200 MB; a larger one is refused unread.

Each command runs as a process of its own with a limit on its processor time. The limit leaves room for a busy machine, on
which the same work takes twice the processor time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.forged import folder_of, sealed
from support.handoffs import forged
from support.sandbox import clean_environment, findings_of, flow, put_skill, told

from flowrail.handoff.handoff import Handoff
from flowrail.storage.converter import to_plain
from flowrail.text import size_limits

MEASURED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
from flowrail.cli.main import main
status = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
sys.stderr.write(f"\\npeak {peak} {status}")
"""
MOST_MEMORY = 200_000  # kB

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def measured(*words: str) -> int:
    """Run a command within the limits and return its exit status."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words],
        env=clean_environment(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, (words, done.returncode, done.stderr[-500:])
    peak, status = done.stderr.rpartition("\npeak ")[2].split()
    assert int(peak) < MOST_MEMORY, words
    return int(status)


def filled(piece: str, size: int = size_limits.YAML_BYTES) -> str:
    """Return *piece* repeated up to *size* bytes."""
    return piece * (size // len(piece))


END = "- {id: end, title: A, actions: [x], next: {ok: null}}\n"
CHOICES = (
    f"name: evil\nparams: {{a: {{default: c1, choices: [{', '.join(f'c{n}' for n in range(9_900))}]}}}}\n"
    "steps: [{id: a, title: A, actions: [x], next: {ok: null}, rules: ["
    + ", ".join(f"{{if: \"a == 'x{n}'\", outcome: ok}}" for n in range(1_900))
    + ", {outcome: ok}]}]\n"
)
EXPRESSIONS = (
    "name: evil\nparams: {p: {type: integer, default: 1}}\nsteps: [{id: a, title: A, actions: [x], next: {ok: null}, rules: ["
    + ", ".join(f"{{if: {' or '.join(f'p == {n + k}' for n in range(42))}, outcome: ok}}" for k in range(500))
    + ", {outcome: ok}]}]\n"
)
CONDITIONS = (
    f"name: evil\nparams: {{{', '.join(f'p{n}: {{default: x}}' for n in range(500))}}}\nsteps:\n"
    + "".join(
        f"- {{id: s{n}, title: A, actions: ['$f{n} $f0'], variants: [{{when: \"p{n} == 'x'\", actions: ['$f1 $f2']}}], "
        f"reports: {{f{n}: {{required: true}}}}, next: {{ok: s{n + 1}, fail: end}}}}\n"
        for n in range(499)
    )
    + END.replace("end", "s499") + END
)  # fmt: skip
WRONG_TYPES = (
    f"name: evil\nparams: {{a: {{choices: [{'[], ' * 9_000}], default: [{'{}, ' * 9_000}]}}}}\nsteps:\n{END}"
)
UNKNOWN_STEPS = "name: evil\nsteps:\n" + "".join(
    f"- {{id: {'a' * 30}{n:04}, title: A, actions: [x], next: {{ok: {'a' * 30}x{n:03}}}}}\n"
    for n in range(1_900)
)
JOINED_TEXTS = (
    f"T='{'x' * 60_000}'\nA=T+T+T+T\nL=[{'A+A,' * 6_000}]\nWORKFLOW=Workflow('evil',StepDef('a','A',L))\n"
)
MANY_ARGUMENTS = (
    f"def f(c,{','.join(f'a{n}:int' for n in range(3_000))}):pass\n"
    f"WORKFLOW=Workflow('evil',{','.join(f'StepDef(`a{n}`,`A`,[`x`],f,next={{}})' for n in range(1_500))})\n"
).replace("`", "'")
DOCUMENTS: dict[str, tuple[str, str]] = {
    "nested YAML": ("workflow.yaml", filled("[")),
    "YAML with many values": ("workflow.yaml", "a: [" + filled("1,")[:-6] + "]"),
    "YAML with many steps": ("workflow.yaml", "steps:\n" + "  - {}\n" * 9_900),
    "YAML with many choices": ("workflow.yaml", CHOICES),
    "YAML with long expressions": ("workflow.yaml", EXPRESSIONS),
    "YAML with many conditions": ("workflow.yaml", CONDITIONS),
    "YAML with wrong types": ("workflow.yaml", WRONG_TYPES),
    "YAML with unknown steps": ("workflow.yaml", UNKNOWN_STEPS),
    "Python with many calls": ("workflow.py", filled("f(1)\n", 131_000)),
    "Python with joined texts": ("workflow.py", JOINED_TEXTS),
    "Python with a handler of many arguments": ("workflow.py", MANY_ARGUMENTS),
    "SKILL.md with many keys": ("SKILL.md", "---\n" + "a: b\n" * 13_000),
}


@linux
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_skill_costs_little_time_and_memory(name: str) -> None:
    folder = put_skill("evil")
    path, content = DOCUMENTS[name]
    if path == "workflow.py":
        (folder / "workflow.yaml").unlink()
    (folder / path).write_text(content)

    assert measured("check", "evil") in {0, 1, 2, 7}


@linux
@pytest.mark.parametrize(
    "content", ["[" * 900_000, "[" + "[]," * 300_000 + "[]]"], ids=["nested", "many lists"]
)
def test_a_hostile_payload_costs_little_time_and_memory(content: str) -> None:
    put_skill("evil")
    Path("payload").write_text(content)

    for words in (("handoff", "check", "payload"), ("step", "evil", "ok", "--facts", "payload")):
        assert measured(*words) in {1, 2, 4}


@linux
def test_a_hostile_store_costs_little_time_and_memory() -> None:
    put_skill("evil")
    session = str(told("step", "evil", "--new")["session"])
    folder = folder_of(session)
    last = json.loads((folder / "journal.jsonl").read_bytes())
    last["session"] |= {"params": dict.fromkeys((f"k{n}" for n in range(60_000)), ())}
    (folder / "journal.jsonl").write_bytes(sealed(last))
    Path(".flow/handoffs").mkdir(mode=0o700, exist_ok=True)
    moment = "2026-02-04T10:00:00Z"
    handoff = {**to_plain(Handoff("", "a", "b", started_at=moment)), "draft": {"a": [[]] * 50_000}}
    record = {"kind": "x", "at": moment, "by": "", "note": {}, "handoff": handoff, "prev": ""}
    forged(0, ({"seq": number, **record} for number in range(4)))

    for line in (
        "sessions --all",
        f"sessions {session}",
        "audit --verify",
        f"trust --session {session}",
    ):
        assert measured(*line.split()) in {0, 1, 3, 7}, line


@linux
def test_a_file_of_three_gigabytes_is_refused_unread() -> None:
    folder = put_skill("evil")
    with (folder / "workflow.yaml").open("wb") as file:
        file.truncate(3_000_000_000)

    assert measured("check", "evil") == 1


def test_a_text_that_many_steps_use_is_limited() -> None:
    steps = "".join(
        f"- {{id: s{n}, title: A, text: steps/a.md, next: {{ok: s{n + 1}}}}}\n" for n in range(80)
    )
    workflow = f"name: NAME\nsteps:\n{steps}{END.replace('end', 's80')}"
    put_skill("texts", workflow, texts={"steps/a.md": "word " * 12_000})

    found = findings_of("texts")

    assert {finding["code"] for finding in found} == {"FR125"}


def test_a_large_honest_workflow_is_accepted_and_drawn_in_a_format_that_fits() -> None:
    steps = "".join(f"- {{id: s{n}, title: A, next: {{ok: s{n + 1}}}}}\n" for n in range(600))
    texts = {f"steps/s{n}.md": f"{n} words " * 400 for n in range(600)}
    put_skill("long", f"name: NAME\nsteps:\n{steps}{END.replace('end', 's600')}", texts=texts)

    assert flow("check", "long").status == 0
    assert flow("diagram", "long", "-o", "long.svg").status == 0
