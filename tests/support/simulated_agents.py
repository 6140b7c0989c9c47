"""Simulated agents that know only what flow prints: an orchestrator, and sub-agents for its dispatches.

The orchestrator runs one printed command after the other, starts an agent for each dispatch, asks the user the
open questions, and continues with the results. A `Habit` makes their decisions.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree as ET

from support.sandbox import Ran, flow

from flowrail.machines.agents import PROMPT_STEP

NEXT = re.compile(r"^NEXT for the agent that launched this one: (.*)$", re.MULTILINE)
MOST_COMMANDS = 2_000
STOP = "Stop"
MOST_ROUNDS = 6
"""In this attempt of a step the user stops: only a person can end a loop of their own answers."""


def words_of(line: str) -> list[str]:
    """Return the arguments of a printed command as a shell would pass them."""
    assert line.isprintable()
    unquoted = re.sub(r"'[^']*'|\"'\"", "", line)
    assert not re.search(r"[^\w ./:=@%+,-]", unquoted, re.ASCII), line
    program, *words = shlex.split(line)
    assert program == "flow", line
    return words


# --- what a step prints


class Case(NamedTuple):
    """One printed command."""

    outcome: str
    to: str
    waits: bool
    command: str


class Want(NamedTuple):
    """One required fact. Its example is the first of its choices, if it has any."""

    name: str
    type: str
    example: str
    choices: tuple[str, ...] = ()


class Work(NamedTuple):
    """One dispatch: its number, and what is printed for it: a prompt for its agent, or a command if it failed."""

    number: str
    agent: str
    status: str
    text: str

    @property
    def command(self) -> str:
        """The command in the prompt."""
        return self.text.partition("`")[2].partition("`")[0] or self.text


class Asked(NamedTuple):
    """One open question: its header, and each label with the command that answers it so."""

    id: str
    header: str
    options: tuple[tuple[str, str], ...]


class StepOutput(NamedTuple):
    """A printed step, as an agent reads it."""

    session: str
    skill: str
    status: str
    step: str
    visit: int
    text: str
    cases: tuple[Case, ...]
    wants: tuple[Want, ...]
    work: tuple[Work, ...]
    met: bool
    questions: tuple[Asked, ...]
    finding: str


def read(out: str) -> StepOutput:
    """Read the XML of a step."""
    root = ET.fromstring(out)  # noqa: S314 - our own output, which must be well-formed
    header = root.find("step_header")
    head = {} if header is None else header.attrib
    dispatches = root.find("dispatches")

    def texts(element: ET.Element, *names: str) -> dict[str, str]:
        return {name: element.get(name, "") for name in names}

    return StepOutput(
        **texts(root, "session", "skill", "status"),
        step=head.get("id", ""),
        visit=int(head.get("attempt", 1)),
        text="".join(root.find("current_action").itertext()),  # type: ignore[union-attr]
        cases=tuple(
            Case(
                **texts(case, "outcome", "to"),
                waits="waits_for" in case.attrib,
                command=case.text or "",
            )
            for case in root.iterfind("next/case")
        ),
        wants=tuple(_want(want) for want in root.iterfind("next/want") if want.get("required") == "true"),
        work=tuple(
            Work(**texts(work, "number", "agent", "status"), text=work.text or "")
            for work in root.iterfind("dispatches/dispatch")
        ),
        met=dispatches is None or dispatches.get("met") == "true",
        questions=tuple(
            Asked(
                **texts(question, "id", "header"),
                options=tuple(
                    (option.get("label", ""), option.text or "") for option in question.iterfind("option")
                ),
            )
            for question in root.iterfind("questions/question")
        ),
        finding=root.findtext("finding_command") or "",
    )


def _want(element: ET.Element) -> Want:
    choices = tuple(element.get("choices", "").split(", ")) if "choices" in element.attrib else ()
    items = re.search(r"\d+", element.get("range", "")) if element.get("type") == "list" else None
    plain = json.dumps(["x"] * int(items[0] if items else 1)) if element.get("type") == "list" else ""
    example = choices[0] if choices else element.get("example", plain)
    return Want(element.get("name", ""), element.get("type", ""), example, choices)


# --- habits


class Habit:
    """The choices of an agent: this one takes the first command and finds nothing."""

    def choice(self, output: StepOutput, cases: Sequence[Case]) -> Case:
        """Choose a command."""
        del output
        return cases[0]

    def value(self, output: StepOutput, want: Want) -> str:
        """Choose a value to report."""
        del output
        return want.example

    def label(self, output: StepOutput, question: Asked) -> str:
        """Choose the user's answer."""
        del output
        return question.options[0][0]

    def found(self, output: StepOutput) -> Sequence[str]:
        """Choose the severities of the findings of a review."""
        del output
        return ()

    def manages(self, work: Work) -> bool:
        """Choose whether an agent that works from a prompt succeeds."""
        del work
        return True

    def goes_on(self, output: StepOutput) -> bool:
        """Choose whether to continue with failed work instead of trying it again."""
        del output
        return True


class LastAnswer(Habit):
    """Takes the first command, and the last answer to each question."""

    def label(self, output: StepOutput, question: Asked) -> str:
        return question.options[-1][0]


class Last(LastAnswer):
    """Takes the last command and answer. Work from a prompt fails, and each review finds something small."""

    def choice(self, output: StepOutput, cases: Sequence[Case]) -> Case:
        return cases[-1]

    def value(self, output: StepOutput, want: Want) -> str:
        return want.choices[-1] if want.choices else want.example

    def found(self, output: StepOutput) -> Sequence[str]:
        return ["COULD"]

    def manages(self, work: Work) -> bool:
        return False


class Failing(Habit):
    """Fails everywhere, with findings in reviews. At a limit the user chooses *at_limit* if possible."""

    def __init__(self, at_limit: str) -> None:
        self.at_limit = at_limit

    def choice(self, output: StepOutput, cases: Sequence[Case]) -> Case:
        return next((case for case in cases if case.outcome == "fail"), cases[-1])

    def label(self, output: StepOutput, question: Asked) -> str:
        labels = [label for label, _ in question.options]
        is_enough = STOP in labels and output.visit >= MOST_ROUNDS
        return self.at_limit if self.at_limit in labels and not is_enough else labels[-1]

    def found(self, output: StepOutput) -> Sequence[str]:
        return ["MUST", "SHOULD"]

    def manages(self, work: Work) -> bool:
        return False


class Iterating(Habit):
    """Never finishes: takes transitions back or the last report that a rule decides, and reports numbers above zero."""

    def choice(self, output: StepOutput, cases: Sequence[Case]) -> Case:
        back = [case for case in cases if case.outcome == "iterate" or case.to == output.step]
        decided = [case for case in cases if case.outcome == "done"]
        return (back or decided[::-1] or cases)[0]

    def value(self, output: StepOutput, want: Want) -> str:
        return "1" if (want.type, want.example) == ("integer", "0") else want.example

    def label(self, output: StepOutput, question: Asked) -> str:
        return question.options[min(1, len(question.options) - 1)][0]

    def found(self, output: StepOutput) -> Sequence[str]:
        return ["SHOULD"]


class NoWriter(Habit):
    """Succeeds everywhere, except for the work of writers."""

    def manages(self, work: Work) -> bool:
        return work.agent != "technical-writer"


class Sparse(Habit):
    """Reports as little as possible: empty lists and zeros."""

    def value(self, output: StepOutput, want: Want) -> str:
        if want.type == "list":
            return "[]"
        return "0" if want.type == "integer" and not want.choices else want.example


class Chance(Habit):
    """Chooses by chance, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - not for secrets

    def choice(self, output: StepOutput, cases: Sequence[Case]) -> Case:
        return self.chance.choice(cases)

    def value(self, output: StepOutput, want: Want) -> str:
        few = {"list": "[]", "integer": "1"}.get(want.type, want.example)
        return self.chance.choice(want.choices or [want.example, few])

    def label(self, output: StepOutput, question: Asked) -> str:
        return self.chance.choice(question.options)[0]

    def found(self, output: StepOutput) -> Sequence[str]:
        return self.chance.choices(["MUST", "SHOULD", "COULD"], k=self.chance.choice([0, 0, 1]))

    def manages(self, work: Work) -> bool:
        return self.chance.random() < 0.6

    def goes_on(self, output: StepOutput) -> bool:
        return self.chance.random() < 0.5


def habits() -> dict[str, Habit]:
    """Return habits by name. Together they take every transition of the bundled skills."""
    return {
        "first": Habit(),
        "last": Last(),
        "last answer": LastAnswer(),
        "iterating": Iterating(),
        "sparse": Sparse(),
        "no writer": NoWriter(),
        **{f"failing, then {label}": Failing(label) for label in ("Stop", "Accept the risk")},
        **{f"chance {seed}": Chance(seed) for seed in range(6)},
    }


def more_habits() -> dict[str, Habit]:
    """Return habits with long walks that take no other transitions."""
    return {
        "failing, then Another round": Failing("Another round"),
        **{f"chance {seed}": Chance(seed) for seed in range(6, 20)},
    }


# --- agents


@dataclass
class Team:
    """Agents of one habit, with the last output of each of their sessions."""

    habit: Habit = field(default_factory=Habit)
    sessions: dict[str, StepOutput] = field(default_factory=dict)
    commands: int = 0
    runs: Callable[..., Ran] = flow

    def run(self, line: str) -> StepOutput:
        """Run *line* and then the printed commands to the end of that session, and return the last output."""
        return self._continue(self._output(line))

    def between(self, output: StepOutput) -> StepOutput:
        """Do what happens between two commands: here nothing."""
        return output

    def to_show(self, session: str) -> str:
        """Return the line that shows a session's step again."""
        return f"flow resume {session}"

    def with_facts(self, line: str, values: Mapping[str, str]) -> str:
        """Return a printed line with facts added to it."""
        return " ".join([line, *(f"-s {shlex.quote(f'{name}={value}')}" for name, value in values.items())])

    def with_finding(self, line: str, severity: str) -> str:
        """Return the printed line that records a finding, with one added to it."""
        return f"{line} --severity {severity} --place src/app.py:3 --text 'it is wrong'"

    def _continue(self, output: StepOutput) -> StepOutput:
        reviewed: set[tuple[str, int]] = set()
        while output.status in {"active", "waiting"}:
            output = self.between(output)
            if output.questions:
                question = output.questions[0]
                self._ran(dict(question.options)[self.habit.label(output, question)])
                output = self._output(self.to_show(output.session))
            elif dispatched := self._to_start(output):
                output = self._output([self._work(work) for work in dispatched][-1])
            else:
                if output.finding and (output.step, output.visit) not in reviewed:
                    reviewed.add((output.step, output.visit))
                    for severity in self.habit.found(output):
                        self._ran(self.with_finding(output.finding, severity))
                output = self._report(output)
        return self.between(output)

    def _output(self, line: str) -> StepOutput:
        return self._seen(self._ran(line).out)

    def _seen(self, out: str) -> StepOutput:
        output = read(out)
        self.sessions[output.session] = output
        return output

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        self.commands += 1
        assert self.commands <= MOST_COMMANDS, "the run does not end"
        ran = self.runs(*words_of(line))
        assert refused or (ran.status, ran.err) == (0, ""), (line, ran)
        return ran

    def _to_start(self, output: StepOutput) -> list[Work]:
        """Return the dispatches that need an agent: the pending ones, or failed ones that are tried again."""
        if output.met:
            return []
        pending = [work for work in output.work if work.status in {"pending", "active"}]
        failed = [work for work in output.work if work.status in {"failed", "abandoned"} and work.text]
        can_report = any(not case.waits for case in output.cases)
        return pending or ([] if failed and can_report and self.habit.goes_on(output) else failed)

    def _work(self, work: Work) -> str:
        """Do a piece of work as a sub-agent, and return the command that it gives to its orchestrator."""
        if work.status in {"failed", "abandoned"}:
            replaced = self._output(work.command)
            work = next(known for known in replaced.work if known.number == work.number)
        return self.do(work)

    def do(self, work: Work) -> str:
        """Follow the prompt of a dispatch to its end."""
        output = self._output(work.command)
        if output.step == PROMPT_STEP:
            ok, fail = output.cases
            succeeds = self.habit.manages(work)
            line = (
                self.with_facts(ok.command, {"note": "done"})
                if succeeds
                else self.with_facts(fail.command, {"reason": "no access"})
            )
            return _next(self._output(line).text)
        return _next(self._continue(output).text)

    def _report(self, output: StepOutput) -> StepOutput:
        cases = [case for case in output.cases if not case.waits]
        assert cases, f"{output.skill} {output.step}: no command can be run"
        line = self.habit.choice(output, cases).command
        values = {want.name: self.habit.value(output, want) for want in output.wants}
        ran = self._ran(self.with_facts(line, values), refused=True)
        if ran.status != 0:  # the habit's value is not allowed
            assert ran.status == 2, (line, ran)
            ran = self._ran(self.with_facts(line, {want.name: want.example for want in output.wants}))
        return self._seen(ran.out)


def _next(text: str) -> str:
    found = NEXT.search(text)
    assert found, text
    return found[1]
