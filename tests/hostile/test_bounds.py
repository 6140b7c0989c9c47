"""The heaviest of what a stranger can give takes little memory, as a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.forged import folder_of, forged_behind, sealed
from support.handing import forged
from support.hostile_files import ODD
from support.sandbox import clean_environment, flow, put_skill, told

from flowrail.handoff.handoff import Handoff
from flowrail.operations.sessions.session_list import LONGEST_OF_OTHERS, MOST_OF_OTHERS
from flowrail.storage.records import to_plain

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


INNER_KEYS = "".join(f"  k{n}: [a, b,\n" for n in range(480))
BROKEN_KEYS = "---\nname: evil\n" + "".join(f"x{n}:\n{INNER_KEYS}" for n in range(8)) + "---\n"
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


def ticks(folder: Path) -> None:
    """Give many steps a text that a careless search for its end would read from each place of it."""
    steps = "".join(
        f"- {{id: s{n}, title: A, text: steps/s.md, next: {{ok: s{n + 1}}}}}\n" for n in range(30)
    )
    last = "- {id: s30, title: A, actions: [x], next: {ok: null}}\n"
    (folder / "workflow.yaml").write_text(f"name: evil\nsteps:\n{steps}{last}")
    (folder / "steps").mkdir()
    (folder / "steps" / "s.md").write_text("`" * 65_000)


HEAVY: dict[str, Callable[[Path], object]] = {
    "Python of small statements": python("x=1\n"),
    "Python of calls": python("f(1)\n"),
    "Python of names": python("a;"),
    "Python of as many names as are read": python("a;", 65_000),
    "Python of as many calls as are read": python("f(1)\n", 65_000),
    "Python too large": python("f(1)\n", 4_000_000),
    "YAML of entries": text("workflow.yaml", "a: [" + "1," * 400_000 + "]\n"),
    "YAML of lines": text("workflow.yaml", "\n" * 999_000),
    "YAML nested": text("workflow.yaml", "[" * 999_000),
    "YAML of a long text": text("workflow.yaml", "a: " + "b " * 499_000),
    "a card of keys": text("SKILL.md", "---\n" + "a: b\n" * 13_000),
    "a card of broken keys": text("SKILL.md", BROKEN_KEYS),
    "YAML of values": text("workflow.yaml", "steps: [" + "ab," * 19_900 + "]\n"),
    "YAML of steps": text("workflow.yaml", "steps:\n" + "  - {}\n" * 9_900),
    "YAML of choices and what is never one": text("workflow.yaml", CHOICES),
    "YAML of conditions of many steps": text("workflow.yaml", CONDITIONS),
    "YAML of conditions with as many facts under each": text("workflow.yaml", GUARDED),
    "YAML of values that are none": text("workflow.yaml", MISSHAPEN),
    "YAML of texts of back quotes": ticks,
    "Python of joined texts": text("workflow.py", JOINED),
    "Python of a handler that asks for much": text("workflow.py", ASKING_MUCH),
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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_journal_of_handoffs_that_somebody_else_wrote_takes_little_memory() -> None:
    put_skill("evil")
    Path(".flow").mkdir(mode=0o700)
    Path(".flow/handoffs").mkdir(mode=0o700)
    moment = "2026-02-04T10:00:00Z"
    handoff = {**to_plain(Handoff("", "a", "b", started_at=moment)), "draft": {"a": [[]] * 50_000}}
    parts = {"kind": "x", "at": moment, "by": "", "note": {}, "handoff": handoff, "prev": ""}
    forged(0, ({"seq": number, **parts} for number in range(150)))

    for words in (["audit"], ["audit", "verify"], ["handoff", "status", "--all"]):
        peak, status = measured(words)
        assert peak < MOST, words
        assert status in {0, 1}


RECORDED: dict[str, dict[str, object]] = {
    "problems of many values": {
        "kind": "failed",
        "handoff": {
            "phase": "failed",
            "problem": {"code": "x", "message": "y", "details": {f"k{n}": [] for n in range(50_000)}},
        },
    },
    "notes": {"note": {f"k{n}": "x" * 900 for n in range(900)}},
    "a writer": {"by": "x" * 900_000},
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", RECORDED)
def test_many_large_records_of_a_handoff_that_somebody_else_wrote_take_little_memory(what: str) -> None:
    put_skill("evil")
    Path(".flow/handoffs").mkdir(mode=0o700, parents=True)
    moment = "2026-02-04T10:00:00Z"
    handoff = to_plain(Handoff("", "a", "b", started_at=moment))
    parts = {"kind": "x", "at": moment, "by": "", "note": {}, "prev": "", **RECORDED[what]}
    parts["handoff"] = {**handoff, **RECORDED[what].get("handoff", {})}  # type: ignore[dict-item]
    forged(0, ({"seq": number, **parts} for number in range(30)))

    for words in (["audit", "--json"], ["audit", "verify"]):
        peak, status = measured(words)
        assert peak < MOST, words
        assert status in {0, 1}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("nested", [300_000])
def test_many_records_of_very_many_values_take_little_memory(nested: int) -> None:
    put_skill("evil")
    session = str(told("start", "evil")["session"])
    for _ in range(20):
        forged_behind(session, kind="handoff", note={"a": [{}] * nested})

    for words in (
        ["history", "ID"],
        ["history", "ID", "--json"],
        ["audit"],
        ["coverage", "evil", "--sessions"],
        ["diagram", "--session", "ID"],
        ["verify", "ID"],
        ["record", "ID"],
        ["audit", "verify"],
    ):
        peak, status = measured([each.replace("ID", session) for each in words])
        assert peak < MOST, words
        assert status in {0, 1, 3}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("held", [55_000, 340_000])
def test_many_handoffs_that_somebody_else_wrote_take_little_memory(held: int) -> None:
    put_skill("evil")
    Path(".flow/handoffs").mkdir(mode=0o700, parents=True)
    moment = "2026-02-04T10:00:00Z"
    handoff = {**to_plain(Handoff("", "a", "b", started_at=moment)), "facts": {"a": [[]] * held}}
    parts = {"seq": 0, "kind": "x", "at": moment, "by": "", "note": {}, "handoff": handoff, "prev": ""}
    for number in range(24):
        forged(number, iter([parts]))
        copy = Path(f".flow/handoffs/handoff-{number:06}/handoff.json")
        copy.write_text(f'{{"seq": 0, "hash": "x", "handoff": [{"[]," * 1_300_000}1]}}')

    for words in (
        ["handoff", "status", "--all"],
        ["audit", "--json"],
        ["audit", "verify"],
        ["prune", "--dry-run"],
    ):
        peak, status = measured(words)
        assert peak < MOST, words
        assert status in {0, 1}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_sessions_that_somebody_else_wrote_take_little_memory() -> None:
    put_skill("evil")
    session = str(told("start", "evil")["session"])
    last = json.loads((folder_of(session) / "journal.jsonl").read_bytes())
    del last["hash"], last["mac"]
    for number in range(20):
        planted = f"evil-aaaa{number:02}"
        shutil.copytree(folder_of(session), folder_of(planted))
        (folder_of(planted) / "session.json").write_text(
            '{"seq": 0, "hash": "x", "session": [' + "[]," * 1_300_000 + "1]}"
        )
        params: dict[str, object] = (
            dict.fromkeys((f"k{n}" for n in range(60_000)), ()) if number % 2 else {"k": "x" * 200_000}
        )
        last["session"] |= {"id": planted, "params": params}
        (folder_of(planted) / "journal.jsonl").write_bytes(sealed(last))

    for words in (["sessions", "--all", "--json"], ["status"], ["verify"], ["audit"]):
        peak, status = measured(words)
        assert peak < MOST, words
        assert status in {0, 1, 3}
    told_of = flow("sessions", "--all", "--json").data["sessions"]
    theirs = [each["params"] for each in told_of if each["foreign"]]
    assert {len(each) for each in theirs} == {1, MOST_OF_OTHERS}
    assert max(len(value) for each in theirs for value in each.values()) == LONGEST_OF_OTHERS


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_copies_and_definitions_of_very_many_texts_take_little_memory() -> None:
    put_skill("evil")
    session = str(told("start", "evil")["session"])
    last = json.loads((folder_of(session) / "journal.jsonl").read_bytes())
    del last["hash"], last["mac"]
    texts = '"\N{GRINNING FACE}", ' + '"ab",' * 800_000 + "1"
    definition = json.loads((folder_of(session) / "definition.json").read_bytes())
    told_of = json.dumps(definition, ensure_ascii=False)[:-1] + f', "more": [{texts}]}}'
    Path(".flow/handoffs").mkdir(mode=0o700)
    handoff = to_plain(Handoff("", "a", "b", started_at="2026-02-04T10:00:00Z"))
    parts = {"seq": 0, "kind": "x", "at": "2026-02-04T10:00:00Z", "by": "", "note": {}, "prev": ""}
    for number in range(6):
        planted = f"evil-aaaa{number:02}"
        shutil.copytree(folder_of(session), folder_of(planted))
        last["session"] |= {"id": planted}
        line = sealed(last)
        (folder_of(planted) / "journal.jsonl").write_bytes(line)
        copy = f'{{"seq": 0, "hash": "{json.loads(line)["hash"]}", "session": [{texts}]}}'
        (folder_of(planted) / "session.json").write_text(copy)
        (folder_of(planted) / "definition.json").write_text(told_of)
        handed = forged(number, iter([{**parts, "handoff": handoff}]))
        Path(f".flow/handoffs/{handed}/handoff.json").write_text(copy.replace("session", "handoff"))

    for words in (
        ["sessions", "--all", "--json"],
        ["status"],
        ["verify"],
        ["audit", "verify"],
        ["handoff", "status", "--all"],
        ["adopt", "evil-aaaa00"],
    ):
        peak, status = measured(words)
        assert peak < MOST, words
        assert status in {0, 1, 3}
