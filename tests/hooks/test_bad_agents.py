"""Agents that skip, repeat, use old commands and obey those of others: no session is damaged, and each refusal helps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from support.hooks import B, conversation, within
from support.sandbox import Ran, copy_of_the_store, flow, params_of, told
from support.simulated_agents import Chance, StepOutput, words_of
from support.simulated_hosts import Host

COMMAND = re.compile(r"flow [a-z]+(?: (?:'[^']*'|[^\s;'()]+))*")
OPEN_VALUE = re.compile(r"OPTION|OUTCOME|…|=\S*\.\.\.")
OUTCOMES = ("skip", "iterate", "fail", "ok", "done")


class BadAgent(Host):
    """An agent that also runs commands that are not printed for this moment, and reads the refusals."""

    def __init__(self) -> None:
        super().__init__(Chance(3))
        self.refused: Counter[str] = Counter()
        self.accepted = 0
        self.lines: list[str] = []

    def bad_commands(self, output: StepOutput) -> Iterator[str]:
        """Yield commands to run at this moment."""
        raise NotImplementedError

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        self.lines.append(line)
        return super()._ran(line, refused=refused)

    def between(self, output: StepOutput) -> StepOutput:
        for line in self.bad_commands(output):
            with conversation(self.name, self.variable):
                ran = flow(*words_of(line), "--json")
            if ran.status == 0:
                self.accepted += 1
            else:
                self._check(line, ran)
        is_open = output.status in {"active", "waiting"}
        return self._output(f"flow resume {output.session}") if is_open else output

    def _check(self, line: str, ran: Ran) -> None:
        """Check that a refusal is one of ours and names a next command, which works. An agent without work has none."""
        self.refused[ran.error["code"]] += 1
        assert ran.status in {2, 4}, (line, ran)
        commands = COMMAND.findall(ran.error["hint"])
        assert commands or ran.error["code"] == "DISPATCH_GONE", (line, ran)
        for command in commands:
            if not OPEN_VALUE.search(command):
                with copy_of_the_store(), conversation(self.name, self.variable):
                    assert flow(*words_of(command)).status == 0, (line, ran)


class Skips(BadAgent):
    """Reports outcomes that the step does not accept."""

    def bad_commands(self, output: StepOutput) -> Iterator[str]:
        known = {case.outcome for case in output.cases}
        for word in [word for word in OUTCOMES if word not in known][:2]:
            yield f"flow step {output.skill} {word} --session {output.session}"


class Repeats(BadAgent):
    """Runs its last commands again, and one that was printed long ago."""

    def bad_commands(self, output: StepOutput) -> Iterator[str]:
        reports = [line for line in self.lines if line.startswith(("flow step", "flow answer"))]
        yield from [*reports[:1], *reports[-2:]]


class ReportsOkForEverything(BadAgent):
    """Reports `ok` before it has done anything."""

    def bad_commands(self, output: StepOutput) -> Iterator[str]:
        if output.questions or not output.met:
            yield f"flow step {output.skill} ok --session {output.session}"
        yield f"flow step {output.skill} ok --session {output.session} --expect 99"


class ObeysAnother(BadAgent):
    """Runs the commands that were printed to another conversation."""

    def bad_commands(self, output: StepOutput) -> Iterator[str]:
        sessions: Sequence[dict[str, str]] = within(B, "sessions")["sessions"]
        for session in sessions:
            if session["session"] not in self.sessions:
                yield from (case["command"] for case in within(B, "resume", session["session"])["next"][:1])


KINDS = (Skips, Repeats, ReportsOkForEverything, ObeysAnother)
WITH_SUB_AGENTS = "perspective-swarm"


@pytest.mark.parametrize(
    ("kind", "skill"),
    [
        *product(KINDS, ["problem-analysis", "doc-sync"]),
        (ReportsOkForEverything, WITH_SUB_AGENTS),
        *(pytest.param(kind, WITH_SUB_AGENTS, marks=pytest.mark.long) for kind in KINDS),
    ],
)
def test_a_bad_agent_damages_no_session_and_each_refusal_names_what_to_run(
    kind: type[BadAgent], skill: str
) -> None:
    line = f"flow step {skill} --new {params_of(skill)}".rstrip()
    other = within(B, *words_of(line))["session"]
    before = told("sessions", other)["history"]
    agent = kind()

    end = agent.run(line)

    assert end.status in {"completed", "failed"}
    assert flow("audit", "--verify").status == 0
    assert told("sessions", other)["history"] == before, "the other conversation's session has not moved"
    assert agent.refused or agent.accepted
