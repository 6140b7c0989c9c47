"""Every command that a run prints works: each is tried on a copy of its session."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from support.hooks import conversation
from support.sandbox import BUNDLED, Ran, copy_of_the_store, flow, params_of, put_skill
from support.simulated_agents import Chance, Failing, Habit, Last, StepOutput, words_of
from support.simulated_hosts import ForgetfulHost

QUESTIONS = """\
<needs_user_input><question id="tried" header="Tried"><text>Which?</text>
<option label="One"/><option label="Two"/></question></needs_user_input>"""

IN_A_TEXT = re.compile(r"`(flow [^`\n]+)`")
A_VALUE_IS_OPEN = re.compile(r"\b(?:SESSION|TARGET|PATH|NAME|TEXT|ID)\b|…")


class TryingHost(ForgetfulHost):
    """Agents at work. Each printed command is tried immediately, on a copy of the store."""

    def __init__(self, habit: Habit) -> None:
        super().__init__(habit)
        self.tried: set[str] = set()
        self.waiting: dict[tuple[str, str, int], set[str]] = {}

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        ran = super()._ran(line, refused=refused)
        for command in IN_A_TEXT.findall(ran.out):
            if not A_VALUE_IS_OPEN.search(command):
                self.try_(command)
        return ran

    def _seen(self, out: str) -> StepOutput:
        seen = super()._seen(out)
        for line, stdin in self._complete_lines(out, seen):
            self.try_(line, stdin)
        return seen

    def try_(self, line: str, stdin: str = "") -> None:
        self.tried.add(line)
        with copy_of_the_store(), conversation(self.name, self.variable):
            ran = flow(*words_of(line), stdin=stdin.encode())
        assert (ran.status, ran.err) == (0, ""), (line, ran)

    def _complete_lines(self, out: str, seen: StepOutput) -> Iterator[tuple[str, str]]:
        """Yield each printed command with its placeholders filled in, and its input."""
        root = ET.fromstring(out)  # noqa: S314 - our own output
        wants = {want.name: want.example for want in seen.wants}
        ready = {case.command for case in seen.cases if not case.waits}
        step = (seen.session, seen.step, seen.visit)
        waiting = self.waiting.setdefault(step, set())
        waiting |= {case.command.partition(" --store ")[0] for case in seen.cases if case.waits}
        at_limit = {case.outcome for case in seen.cases} == {"done"}
        if seen.cases and seen.met and not (seen.questions or at_limit):
            assert waiting <= {line.partition(" --store ")[0] for line in ready}
        for line in sorted(ready):
            yield self.with_facts(line, wants), ""
        for work in seen.work:
            if work.command.startswith("flow "):
                yield work.command, ""
        for option in root.iterfind("questions/question/option"):
            yield option.text or "", ""
        for command in root.iterfind("finding_command"):
            yield self.with_finding(command.text or "", "SHOULD"), ""
        for command in root.iterfind("current_action/ask_command"):
            yield command.text or "", QUESTIONS


RUNS = [
    *(
        (skill, Habit())
        for skill in ("codebase-analysis", "perspective-swarm", "planner", "problem-analysis")
    ),
    *(("doc-sync", habit) for habit in (Last(), Chance(0), Chance(1))),
]
LONG_RUNS = [
    *((skill, Habit()) for skill in BUNDLED),
    *((skill, Chance(seed)) for skill in BUNDLED for seed in range(4)),
    *((skill, Failing("Another round")) for skill in ("planner", "doc-sync", "codebase-analysis")),
]


@pytest.mark.parametrize(
    ("skill", "habit"),
    [
        *(pytest.param(*run, id=f"{run[0]}-{number}") for number, run in enumerate(RUNS)),
        *(
            pytest.param(*run, id=f"long-{run[0]}-{number}", marks=pytest.mark.long)
            for number, run in enumerate(LONG_RUNS)
        ),
    ],
)
def test_each_printed_command_of_a_run_works_on_a_copy_of_its_session(skill: str, habit: Habit) -> None:
    host = TryingHost(habit)

    host.run(f"flow step {skill} --new {params_of(skill)}".rstrip())

    assert host.tried


FAN = """\
name: NAME
params: {teams: {type: list, default: ["R&D", "ops", "<it>"]}}
steps:
  - id: look
    title: Look
    actions: [Look.]
    dispatch: {agent: explore, over: teams, join: at least 2, prompt: steps/look.agent.md}
    reports: {team: {type: string, choices: ["R&D", "a<b>c", "it's"], required: true}}
    next: {ok: last, fail: null}
  - {id: last, title: Last, actions: [Do it.], next: {ok: null}}
"""


class OnlyTheFirstSucceeds(Habit):
    def manages(self, work: object) -> bool:
        return getattr(work, "id", "").endswith("-1")


@pytest.mark.parametrize("habit", [Habit(), OnlyTheFirstSucceeds()], ids=["all succeed", "one succeeds"])
def test_values_with_special_characters_are_printed_as_a_shell_takes_them(habit: Habit) -> None:
    put_skill("fan", FAN, texts={"steps/look.agent.md": "Look at $item.\n"})
    host = TryingHost(habit)

    end = host.run("flow step fan --new")

    printed = flow("step", "fan", "--new", "--format", "xml").out
    assert "<![CDATA[flow step fan ok -s 'team=R&D' " in printed
    assert end.status == ("completed" if type(habit) is Habit else "failed")
