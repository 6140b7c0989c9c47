"""Transcripts of agents, judged by a workflow: kept, broken with a line, or unknown.

The transcripts were written by hand after public descriptions of the hosts' formats. Each scenario is there in each form.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import flow, put_skill

TRANSCRIPTS = Path(__file__).parent / "transcripts"
FORMS = ("claude-code", "codex", "neutral")
WORKFLOW = """\
name: NAME
guards:
  "Bash(git push*)": [publish]
order:
  - verify before publish
  - never "Bash(git push*)" after fail of verify until ok of verify
  - verify after fix
  - at most 1 "Bash(git push*)" per attempt of publish
steps:
  - {id: verify, title: Verify, actions: [Test.], commands: {tests: {run: [make, test]}}, next: {ok: publish, fail: fix}}
  - id: fix
    title: Fix
    actions: [Fix.]
    evidence: {ok: [{id: changes, file: CHANGES.md, changed: true}]}
    next: {ok: verify, fail: null}
  - {id: publish, title: Publish, actions: [Push.], next: {ok: null}}
"""
SCENARIOS = {
    # verify before publish, never push after a failure, verify after fix, at most 1 push, the guard
    "clean": "kkkkk",
    "pushed-before-the-session": "kkkkb",
    "pushed-at-the-wrong-step": "kkkkb",
    "pushed-twice": "kkkbk",
    "failed-and-pushed": "kbkkb",
    "fixed": "kkkkk",
    "unfinished": "kkkkk",
    "denied": "kkkkk",
    "joined-late": "uuuuk",
    "without-flow": "kkuku",
    "without-flow-pushed-after-a-failure": "bbkku",
    "unrelated": "uuuuu",
    "with-a-sub-agent": "kkkbk",
    "compacted": "kkkkk",
    "unknown-entries": "kkkkk",
    "truncated": "uuuuu",
}


@pytest.fixture(autouse=True)
def release() -> None:
    put_skill("release", WORKFLOW)


def judged(*transcripts: Path | str) -> Any:
    return flow("conform", "release", *map(str, transcripts), "--json").data


def letters(run: Any) -> str:
    return "".join(rule["verdict"][0] for rule in run["rules"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_transcript_is_judged_in_each_form(scenario: str, form: str) -> None:
    files = [TRANSCRIPTS / form / f"{scenario}.jsonl"]
    agent = TRANSCRIPTS / form / f"{scenario}-agent.jsonl"

    [run] = judged(*files, *([agent] if agent.exists() else []))["runs"]

    assert letters(run) == SCENARIOS[scenario], run["rules"]
    assert run["format"] in {form, ""}
    assert bool(run["unreadable"]) == (scenario == "truncated")


@pytest.mark.parametrize(("name", "verdicts"), [("code-mode", "kkkkk"), ("code-mode-pushed-twice", "kkkbk")])
def test_commands_that_a_program_of_codex_ran_are_judged(name: str, verdicts: str) -> None:
    [run] = judged(TRANSCRIPTS / "codex" / f"{name}.jsonl")["runs"]

    assert letters(run) == verdicts, run["rules"]


def test_a_command_that_codex_lists_under_the_id_of_its_call_counts_once(tmp_path: Path) -> None:
    text = (TRANSCRIPTS / "codex" / "code-mode.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    call: dict[str, Any] = {}
    for payload in (line["payload"] for line in lines):
        if payload.get("name") == "exec":
            call = payload
        elif "item" in payload:
            arguments = json.dumps({"command": payload["item"]["command"]})
            call |= {"type": "function_call", "name": "shell", "arguments": arguments}
            payload["item"]["id"] = call["call_id"]
    (tmp_path / "twice.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    [run] = judged(tmp_path / "twice.jsonl")["runs"]

    assert letters(run) == "kkkkk", run["rules"]


def test_a_patch_of_a_program_of_codex_is_recognised_by_its_files(tmp_path: Path) -> None:
    changed = {
        "type": "FileChange",
        "id": "patch-1",
        "status": "completed",
        "changes": {"CHANGES.md": {"type": "add"}},
    }
    ran = {
        "type": "CommandExecution",
        "id": "exec-1",
        "command": ["bash", "-lc", "make test"],
        "exit_code": 0,
    }
    meta = {"type": "session_meta", "payload": {"id": "5f0c6a1e", "cwd": "/srv/shop"}}
    items = ({"type": "item_completed", "item": item} for item in (changed, ran))
    lines = [meta, *({"type": "event_msg", "payload": payload} for payload in items)]
    (tmp_path / "patch.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    [run] = judged(tmp_path / "patch.jsonl")["runs"]

    assert {rule["rule"]: rule["verdict"] for rule in run["rules"]}["verify after fix"] == "kept"


def test_the_first_deviation_is_named_with_its_line() -> None:
    ran = flow("conform", "release", str(TRANSCRIPTS / "claude-code" / "pushed-twice.jsonl"))

    assert ran.status == 1
    place = 'pushed-twice.jsonl:9: at most 1 "Bash(git push*)" per attempt of publish: '
    assert f'{place}"Bash(git push*)" already happened once' in ran.out
    assert '4  at most 1 "Bash(git push*)" per attempt of publish: 0 kept, 1 broken, 0 unknown' in ran.out


@pytest.mark.parametrize(("scenario", "status"), [("clean", 0), ("pushed-twice", 1), ("unrelated", 1)])
def test_the_exit_status_is_1_for_a_deviation_and_if_nothing_was_recognised(
    scenario: str, status: int
) -> None:
    ran = flow("conform", "release", str(TRANSCRIPTS / "codex" / f"{scenario}.jsonl"))

    assert ran.status == status
    assert ("nothing was recognised" in ran.out) == (scenario == "unrelated")


def test_files_of_sub_agents_belong_to_the_run_of_their_conversation() -> None:
    for form, more in (("claude-code", ()), ("codex", ("with-a-sub-agent-agent.jsonl",))):
        names = ["with-a-sub-agent.jsonl", *more]
        [run] = judged(*(TRANSCRIPTS / form / name for name in names))["runs"]

        assert len(run["files"]) == 2
        assert run["calls"] == 6


def test_a_call_without_a_result_was_made_and_a_report_without_one_is_unknown(tmp_path: Path) -> None:
    lines = (TRANSCRIPTS / "claude-code" / "clean.jsonl").read_text().splitlines()
    (tmp_path / "cut.jsonl").write_text(
        "\n".join(line for line in lines if '"toolu_03", "content"' not in line)
    )

    [run] = judged(tmp_path / "cut.jsonl")["runs"]

    assert letters(run) == "uuuuu"
    assert "result of a report is missing" in run["rules"][0]["reason"] + run["rules"][1]["reason"]


DECIDED = """\
    reports: {failures: {type: integer, min: 0, max: 9, required: true}}
    rules: [{if: failures == 0, outcome: ok}, {outcome: fail}]
    next: {ok: publish, fail: fix}
"""


def test_a_step_that_decides_itself_is_known_by_where_it_led(tmp_path: Path) -> None:
    steps = "  - id: verify\n    title: Verify\n    actions: [Test.]\n" + DECIDED
    put_skill("release", re.sub(r"  - \{id: verify.*\n", lambda _: steps, WORKFLOW))
    text = (TRANSCRIPTS / "claude-code" / "clean.jsonl").read_text()
    (tmp_path / "done.jsonl").write_text(text.replace("release ok --session", "release done --session"))

    [run] = judged(tmp_path / "done.jsonl")["runs"]

    assert letters(run) == "kkkkk"


HUNDRED_MB = """\
import re, sys
from pathlib import Path
from flowrail.__main__ import main
sys.argv = ["flow", "conform", "release", sys.argv[1]]
status = main()
peak = re.search("VmHWM: *\\t* *([0-9]+) kB", Path("/proc/self/status").read_text())[1]
sys.stderr.write(f"{status} {peak}")
"""
"""Judges a transcript and prints the peak of its memory; `ru_maxrss` would include the process that started it."""


def test_100_mb_are_judged_in_little_memory(tmp_path: Path) -> None:
    lines = (TRANSCRIPTS / "claude-code" / "clean.jsonl").read_text().splitlines(keepends=True)
    filler = lines[4].replace("make test", "cat notes # " + "x" * 20_000)
    answer = lines[5].replace("done", "y" * 20_000)
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        file.writelines(lines[:6])
        for number in range(2_400):
            file.write(filler.replace("toolu_02", f"toolu_x{number}"))
            file.write(answer.replace("toolu_02", f"toolu_x{number}"))
        file.writelines(lines[6:])
    assert path.stat().st_size > 100_000_000

    done = subprocess.run(
        [sys.executable, "-c", HUNDRED_MB, str(path)], capture_output=True, text=True, check=True
    )

    status, kilobytes = done.stderr.split()[-2:]
    assert int(status) == 0, done.stdout
    assert int(kilobytes) < 200_000
