"""A team of agents that know only what is printed: an orchestrator, and sub-agents for its dispatches.

The orchestrator runs one printed command after the other, launches an agent for each dispatch, asks the user the
open questions, and continues with the results. A `Habit` makes their decisions.
"""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree as ET

from support.agent import words_of
from support.sandbox import Ran, flow

FINISH = re.compile(r'^<case outcome="(?:ok|fail)">((?:flow )?finish .*)</case>$', re.MULTILINE)
NEXT = re.compile(r"^NEXT for the agent that launched this one: (.*)$", re.MULTILINE)
MOST_COMMANDS = 2_000


class Case(NamedTuple):
    """One printed command."""

    outcome: str
    facts: str
    to: str
    waits: bool
    command: str


class Want(NamedTuple):
    """One value that is asked for."""

    name: str
    type: str
    example: str
    choices: tuple[str, ...] = ()


class Work(NamedTuple):
    """One piece of work that is handed out."""

    id: str
    agent: str
    status: str
    outcome: str
    command: str


class Asked(NamedTuple):
    """One open question: its header, and each label with the command that gives it as the answer."""

    id: str
    header: str
    options: tuple[tuple[str, str], ...]


class Told(NamedTuple):
    """What an agent makes of an answer."""

    session: str
    skill: str
    status: str
    step: str
    visit: int
    limit: int
    text: str
    cases: tuple[Case, ...]
    wants: tuple[Want, ...]
    work: tuple[Work, ...]
    met: bool
    questions: tuple[Asked, ...]
    finding: str


def wanted(element: ET.Element) -> Want:
    """Read a value that is asked for; the first of its choices is its example."""
    choices = tuple(element.get("choices", "").split(", ")) if "choices" in element.attrib else ()
    example = choices[0] if choices else element.get("example", "")
    return Want(element.get("name", ""), element.get("type", ""), example, choices)


class Habit:
    """The choices of an agent: this one takes the first command and finds nothing."""

    def way(self, told: Told, cases: Sequence[Case]) -> Case:
        """Choose a command."""
        del told
        return cases[0]

    def value(self, told: Told, want: Want) -> str:
        """Choose a value to report."""
        del told
        return want.example

    def label(self, told: Told, question: Asked) -> str:
        """Choose the user's answer."""
        del told
        return question.options[0][0]

    def found(self, told: Told) -> Sequence[str]:
        """Say how severe what is found at this step of a review is, one word a finding."""
        del told
        return ()

    def manages(self, work: Work) -> bool:
        """Say whether an agent that works from a prompt gets it done."""
        del work
        return True

    def goes_on(self, told: Told) -> bool:
        """Return whether to continue with failed work instead of trying it again."""
        del told
        return True


@dataclass
class Team:
    """Agents of one habit, and everything that they did."""

    habit: Habit = field(default_factory=Habit)
    sessions: dict[str, Told] = field(default_factory=dict)
    commands: int = 0
    runs: Callable[..., Ran] = flow

    def run(self, line: str) -> Told:
        """Run *line*, then what is printed, to the end of that session; return what was told last."""
        return self._go_on(self._told(line))

    def _go_on(self, told: Told) -> Told:
        recorded: set[tuple[str, int]] = set()
        while told.status in {"active", "waiting"}:
            told = self.between(told)
            if told.questions:
                told = self._answer(told)
            elif launched := self._to_launch(told):
                back = [self._work(each) for each in launched]
                told = self._told(back[-1])
            else:
                self._record(told, recorded)
                told = self._report(told)
        return self.between(told)

    def between(self, told: Told) -> Told:
        """Do what happens between two commands: nothing, or what a host does."""
        return told

    def _told(self, line: str) -> Told:
        return self._seen(self._ran(line).out)

    def _seen(self, out: str) -> Told:
        told = read(out)
        self.sessions[told.session] = told
        return told

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        self.commands += 1
        assert self.commands <= MOST_COMMANDS, "the run does not end"
        ran = self.runs(*words_of(line, "xml"))
        assert refused or (ran.status, ran.err) == (0, ""), (line, ran)
        return ran

    def _answer(self, told: Told) -> Told:
        question = told.questions[0]
        label = self.habit.label(told, question)
        self._ran(dict(question.options)[label])
        return self._told(f"flow resume {told.session}")

    def _to_launch(self, told: Told) -> list[Work]:
        if told.met:
            return []
        pending = [each for each in told.work if each.status == "pending"]
        failed = [each for each in told.work if each.status == "done" and each.outcome == "fail"]
        stuck = not any(not case.waits for case in told.cases)
        return pending or (failed if failed and (stuck or not self.habit.goes_on(told)) else [])

    def _work(self, work: Work) -> str:
        """Do a piece of work as the agent that it was given to, and return the command it came back with."""
        handed = self._ran(work.command).out
        if handed.startswith("<step_output"):
            return _next(self._go_on(self._seen(handed)).text)
        ok, fail = map(html.unescape, FINISH.findall(handed))
        manages = self.habit.manages(work)
        line = (
            self.with_facts(ok, {"note": "done"})
            if manages
            else self.with_facts(fail, {"reason": "no access"})
        )
        return _next(self._ran(line).out)

    def _record(self, told: Told, recorded: set[tuple[str, int]]) -> None:
        if not told.finding or (told.step, told.visit) in recorded:
            return
        recorded.add((told.step, told.visit))
        for severity in self.habit.found(told):
            self._ran(self.with_finding(told.finding, severity))

    def _report(self, told: Told) -> Told:
        open_now = [case for case in told.cases if not case.waits]
        assert open_now, f"{told.skill} {told.step}: nothing printed goes on"
        line = self.habit.way(told, open_now).command
        values = {want.name: self.habit.value(told, want) for want in told.wants}
        ran = self._ran(self.with_facts(line, values), refused=True)
        if ran.status != 0:  # the habit's own value was none that is taken: then as in the example
            assert ran.status == 2, (line, ran)
            ran = self._ran(self.with_facts(line, {want.name: want.example for want in told.wants}))
        return self._seen(ran.out)

    def with_facts(self, line: str, values: Mapping[str, str]) -> str:
        """Return a printed line with facts added to it."""
        return " ".join([line, *(f"-s {shlex.quote(f'{name}={value}')}" for name, value in values.items())])

    def with_finding(self, line: str, severity: str) -> str:
        """Return the printed line that records a finding, with one added to it."""
        return f"{line} --severity {severity} --place src/app.py:3 --text 'it is wrong'"


def _next(text: str) -> str:
    found = NEXT.search(text)
    assert found, text
    return found[1]


def read(out: str) -> Told:
    """Read the form for agents."""
    root = ET.fromstring(out)  # noqa: S314 - our own output, and the test is that it parses
    header = root.find("step_header")
    head = {} if header is None else header.attrib
    dispatches = root.find("dispatches")
    finding = root.find("finding_command")
    return Told(
        session=root.get("session", ""),
        skill=root.get("skill", ""),
        status=root.get("status", ""),
        step=head.get("id", ""),
        visit=int(head.get("attempt", 1)),
        limit=int(head.get("limit", 0)),
        text="".join(root.find("current_action").itertext()),  # type: ignore[union-attr]
        cases=tuple(
            Case(
                each.get("outcome", ""),
                each.get("facts", ""),
                each.get("to", ""),
                "waits_for" in each.attrib,
                each.text or "",
            )
            for each in root.iterfind("next/case")
        ),
        wants=tuple(wanted(each) for each in root.iterfind("next/want") if each.get("required") == "true"),
        work=tuple(
            Work(
                each.get("id", ""),
                each.get("agent", ""),
                each.get("status", ""),
                each.get("outcome", ""),
                each.text or "",
            )
            for each in root.iterfind("dispatches/dispatch")
        ),
        met=dispatches is None or dispatches.get("met") == "true",
        questions=tuple(
            Asked(
                each.get("id", ""),
                each.get("header", ""),
                tuple((option.get("label", ""), option.text or "") for option in each.iterfind("option")),
            )
            for each in root.iterfind("questions/question")
        ),
        finding="" if finding is None else finding.text or "",
    )
