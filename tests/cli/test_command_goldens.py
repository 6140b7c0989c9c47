"""What each command prints, in each of its forms, as in the golden files.

A scenario is a list of command lines. Ids, times, hashes and paths are replaced by names that never change, and a line
may use these names. FLOWRAIL_GOLDEN=write writes the files; read what changes in them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest
from support.dispatching_skill import REVIEW, put_lead
from support.golden import golden_text
from support.handoffs import WORK, ours, target
from support.sandbox import ASKING, Ran, flow, put_python, put_skill

ASKED = """\
name: NAME
description: A release that a person decides.
params: {version: {type: string, default: "1.0", description: What to release}}
steps:
  - id: check
    title: Check
    limit: 2
    actions: [Check $version.]
    evidence: {ok: [{id: notes, file: notes.md, contains: ["## Result"]}]}
    next: {ok: decide, iterate: check}
  - id: decide
    title: Decide
    actions: [Ask the user.]
    questions:
      - id: go
        header: Release
        text: "Release $version?"
        options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]
    next: {ok: null, fail: check}
"""
SCENARIOS = {
    "loop": """
        step asking -p topic=käse -p size=2
        step asking
        step asking done -s sure=low -s 'where=["a b"]' --session asking-000001 --expect 0
        step asking done -s sure=low -s 'where=["c"]' --note 'It is in c.' --session asking-000001 --expect 1
        resume asking-000001
        sessions asking-000001
        sessions
        step asking done -s sure=high -s 'where=["c"]' --session asking-000001
        step asking ok --session asking-000001
        sessions asking-000001
        sessions asking-000001
        resume asking-000001
        session rewind asking-000001 --to 1 --reason 'Too early'
        session abandon asking-000001 --reason 'No longer wanted'
        sessions
        session prune --older-than 0d
    """,
    "evidence": """
        step release
        step release ok --session release-000001 --expect 0
        approve --session release-000001
        waive notes --session release-000001 --reason none
        run tests --session release-000001
        note notes.md
        step release ok --session release-000001 --expect 0
        sessions release-000001
        step release ok --session release-000001
        answer release-000001 go=No
        answer release-000001 go=No
        step release done --session release-000001 --expect 1
        step release iterate --session release-000001
        sessions release-000001
    """,
    "refusals": """
        step small
        step small done --session small-000001
        step small nonsense --session small-000001
        step small ok --session small-000001 --expect 7
        step small ok --session elsewhere-a1b2c3
        step smal
        step small ok --sesion small-000001
        step small ok -s a
        step small ok -s unknown=1 --session small-000001
        step asking done --session asking-000001
        step asking -p size=100
        step asking -p nosuch=1
        step python
        step broken
        resume
        answer small-000001 a=b
    """,
    "review": """
        step reviewed
        step reviewed ok --session reviewed-000001
        finding add reviewed-000001 --severity MUST --text 'It leaks.' --place a.py:3
        finding add reviewed-000001 --severity SHOULD --text 'The name is unclear.'
        finding list reviewed-000001
        finding add reviewed-000001 --severity HUGE --text x
        finding none reviewed-000001
        finding resolve reviewed-000001 F1
        sessions reviewed-000001
    """,
    "dispatch": """
        step lead
        step lead ok --session lead-000001
        sessions lead-000001
        resume lead-000001
        step --session lead-000001.0.1
        step ok --session lead-000001.0.1
        questions questions.xml
        ask lead-000001.0.1 questions.xml
        step ok --session lead-000001.0.1
        sessions lead-000001
        answer lead-000001.0.1 db=Redis
        step ok -s found=nothing --session lead-000001.0.1
        step --session lead-000001 --again 2
        step ok --session lead-000001.0.2
        sessions
        sessions lead-000001
    """,
    "handoff": """
        discover --top 1
        step source
        discover --top 1 --session source-000001
        handoff send receiver --session source-000001
        step source ok -s synthesis_summary='All of it.' --session source-000001
        handoff send receiver --session source-000001
        handoff status
        handoff status handoff-000001
        handoff send nosuch --session source-000001
        handoff cancel handoff-000001 --reason 'Not wanted'
        audit
        audit handoff-000001
        audit --verify
    """,
    "received": """
        step source
        step source ok -s synthesis_summary='All of it.' --session source-000001
        handoff send worker --session source-000001
        handoff receive PAYLOAD
        handoff receive PAYLOAD
        resume
        handoff status
        step worker ok --session worker-000001
        audit --verify
    """,
    "skills": """
        list
        show asking
        check asking
        check broken
        test small
        diagram small
        diagram small -o small.md
        diagram small --check small.md
        show asking look
        trust python
        new made
        explain REVISION_CONFLICT
        explain FR163
        registry sync
    """,
    "setup": """
        setup problem-analysis --host claude-code
        setup --local --check
        setup --remove
    """,
}
FORMS = {"xml": ["--format", "xml"], "txt": ["--format", "text"], "json": ["--json"]}
NAMED = re.compile(
    r"\b(asking|release|small|reviewed(?:-one)?|lead(?:-one)?|source|receiver|worker|handoff)-([0-9a-z]{6})\b"
)
REPLACED = [
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),  # digits look like a time
    (re.compile(r"\b\d{4}-?\d\d-?\d\d[T ]?\d\d:?\d\d(:?\d\d[.\d]*)?Z?(?!\w)"), "TIME"),
    (re.compile(r"(?<=\"identity\": \[)[\d,\s]*"), ""),  # the device and inode of a folder
    (re.compile(r"(?<=size\": )\d+|\b\d+(?= bytes)"), "1000"),
    (re.compile(r"(?<=seconds\": )[\d.e-]+"), "0.0"),
    (re.compile(r"(?<![\w.])\d+\.\d+e?-?\d*(?= ?m?s\b| +passed)|(?<=days\": )[\d.e-]+"), "0.0"),
    (re.compile(r"(?<![\w.])(?=[a-f]*\d)[0-9a-f]{12,64}\b"), "HASH"),
    (re.compile(r"(?<![\w-])\d+\.\d+\.\d+(\.dev\d+)?\b"), "VERSION"),
]


class Transcript:
    """The commands of a scenario with their output, and the names that replace ids in it."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.names: dict[str, str] = {}
        self.payload = ""
        self.parts: list[str] = []
        roots = {str(Path.cwd()): "PROJECT", os.environ["HOME"]: "HOME", str(Path.cwd().parent): "WORLD"}
        self.roots = {**roots, str(Path(__file__).parents[2]): "SOURCE"}

    def run(self, line: str) -> None:
        """Run a command in this form, or as it can, and keep what it prints in this form."""
        real = {name: found for found, name in self.names.items()}
        parts = [
            word.partition(".") for word in shlex.split(line)
        ]  # the id of a child session begins with its parent's
        words = [
            f"{real.get(name, name)}{dot}{rest}".replace("PAYLOAD", self.payload) for name, dot, rest in parts
        ]
        ran = flow(*words, *FORMS[self.form])
        has_this_form = "--format" not in ran.err
        if not has_this_form:
            ran = flow(*words)
        if has_this_form or self.form == "txt":
            self.keep(line, ran)
        if found := re.search(r"/\S+/handoffs/\S+\.json", ran.out):
            self.payload = found[0]

    def keep(self, line: str, ran: Ran) -> None:
        """Add a command and its output, without what changes from run to run."""
        if self.form == "json":
            answer = json.loads(self.stable(ran.out))
            done = {"command": f"flow {line}", "status": ran.status, "answer": answer}
            self.parts.append(json.dumps(done, indent=1, ensure_ascii=False))
        else:
            status = f"exit status {ran.status}\n" if ran.status else ""
            self.parts.append(f"$ flow {line}\n{self.stable(ran.out + ran.err)}{status}")

    def stable(self, text: str) -> str:
        """Replace ids, times, hashes and paths."""
        for root, name in self.roots.items():
            text = text.replace(root, name)
        text = NAMED.sub(self._name, text)
        for pattern, name in REPLACED:
            text = pattern.sub(name, text)
        return text

    def _name(self, found: re.Match[str]) -> str:
        number = sum(name.startswith(f"{found[1]}-") for name in self.names.values()) + 1
        return self.names.setdefault(found[0], f"{found[1]}-{number:06d}")


def put_skills() -> None:
    """Write the skills of the scenarios."""
    put_skill("small")
    put_skill("asking", ASKING)
    put_skill("release", ASKED)
    put_skill("broken", "name: NAME\nsteps:\n  - {id: a, title: A, actoins: [Do.], next: {ok: b}}\n")
    put_python("python")
    put_lead()
    put_lead("reviewed", REVIEW)
    ours("source")
    ours("worker", WORK)
    target("receiver")


QUESTIONS = """\
<needs_user_input>
<question id="db" header="Database" multi="false">
<text>Which database?</text>
<option label="Redis">Fast</option>
<option label="Postgres">A server</option>
</question>
</needs_user_input>
"""
OTHER: dict[str, Callable[[str], object]] = {
    "note": lambda path: Path(path).write_text("## Result\nIt works.\n"),
    "questions": lambda path: Path(path).write_text(QUESTIONS),
}
"""What a scenario does besides commands."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_command_prints_what_its_golden_file_shows(
    scenario: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOW_ACTOR", "golden")
    put_skills()
    transcript = Transcript(form)

    for line in map(str.strip, SCENARIOS[scenario].strip().splitlines()):
        first, _, rest = line.partition(" ")
        if first in OTHER:
            OTHER[first](rest)
        else:
            transcript.run(line)

    printed = "\n".join(transcript.parts)
    if printed:
        expected = golden_text(f"commands/{scenario}.{form}", printed)
        changes = list(unified_diff(expected.splitlines(), printed.splitlines(), "golden file", "now", n=3))
        assert not changes, "\n".join(changes)
