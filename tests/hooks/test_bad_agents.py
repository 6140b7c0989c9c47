"""Agents that forget, die, skip, repeat, and obey the wrong commands: each run ends and no session is damaged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from support.hooks import B, conversation, within
from support.sandbox import Ran, copy_of_the_store, flow, params_of, told
from support.simulated_agents import Chance, Habit, StepOutput, words_of
from support.simulated_hosts import ForgetfulHost, Host


@pytest.mark.parametrize("skill", ["codebase-analysis", "perspective-swarm", "planner"])
def test_a_run_ends_though_contexts_are_compacted_and_sub_agents_die(skill: str) -> None:
    host = ForgetfulHost()

    end = host.run(f"flow start {skill} {params_of(skill)}".rstrip())

    assert end.status == "completed"
    assert host.compacted >= 3
    assert host.died >= (1 if skill != "codebase-analysis" else 0)
    assert flow("session", "verify").status == 0


# --- refusals


COMMAND = re.compile(r"flow [a-z]+(?: (?:'[^']*'|[^\s;'()]+))*")
OPEN_VALUE = re.compile(r"OPTION|OUTCOME|…|=\S*\.\.\.")


class BadAgent(Host):
    """An agent that runs commands which nobody printed for this moment, and reads the refusals."""

    def __init__(self, habit: Habit | None = None) -> None:
        super().__init__(habit)
        self.refused: Counter[str] = Counter()
        self.accepted = 0

    def bad_commands(self, told: StepOutput) -> Sequence[str]:
        """Return commands to run at this moment."""
        del told
        return ()

    def between(self, told: StepOutput) -> StepOutput:
        for line in self.bad_commands(told):
            with conversation(self.name, self.variable):
                ran = flow(*words_of(line), "--json")
            if ran.status == 0:
                self.accepted += 1
            else:
                self._check(line, ran)
        return self._output(f"flow resume {told.session}") if told.status in {"active", "waiting"} else told

    def _check(self, line: str, ran: Ran) -> None:
        """Hold that a refusal is one of ours and names a next command, which works."""
        error = ran.error
        self.refused[error["code"]] += 1
        assert ran.status in {2, 4}, (line, ran)
        commands = [command for command in COMMAND.findall(error["hint"]) if not OPEN_VALUE.search(command)]
        for command in commands:
            with copy_of_the_store(), conversation(self.name, self.variable):
                assert flow(*words_of(command)).status == 0, (line, ran)
        assert COMMAND.search(error["hint"]), (line, ran)


class Skips(BadAgent):
    """Skips: reports outcomes that the step does not accept."""

    def bad_commands(self, told: StepOutput) -> Sequence[str]:
        known = {case.outcome for case in told.cases}
        words = [word for word in ("skip", "iterate", "fail", "ok", "done") if word not in known]
        return [f"flow step {told.skill} {word} --session {told.session}" for word in words[:2]]


class Repeats(BadAgent):
    """Repeats: runs the last two commands again."""

    def __init__(self, habit: Habit | None = None) -> None:
        super().__init__(habit)
        self.lines: list[str] = []

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        self.lines.append(line)
        return super()._ran(line, refused=refused)

    def bad_commands(self, told: StepOutput) -> Sequence[str]:
        del told
        return [
            line for line in self.lines[-2:] if line.startswith(("flow step", "flow answer", "flow finish"))
        ]


class ObeysAnother(BadAgent):
    """Runs the commands that were printed to another conversation for its own session of the skill."""

    def _check(self, line: str, ran: Ran) -> None:
        super()._check(line, ran)
        if ran.error["code"] == "OTHER_CONVERSATION" and self.is_open:
            assert ran.error["hint"].startswith(f"continue your own session: flow resume {self.mine}; ")

    def bad_commands(self, told: StepOutput) -> Sequence[str]:
        self.mine, self.is_open = self.mine or told.session, told.status in {"active", "waiting"}
        others = [
            session
            for session in within(B, "sessions")["sessions"]
            if session["session"] not in self.sessions
        ]
        lines = [
            command["command"]
            for session in others
            for command in within(B, "resume", session["session"])["next"]
        ]
        return [line for line in lines if line.startswith(f"flow step {told.skill} ")][:1]


@pytest.mark.parametrize("skill", ["problem-analysis", "perspective-swarm", "doc-sync"])
@pytest.mark.parametrize("kind", [Skips, Repeats, ObeysAnother])
def test_a_bad_agent_damages_no_session_and_each_refusal_names_what_to_run(
    kind: type[BadAgent], skill: str
) -> None:
    line = f"flow start {skill} {params_of(skill)}".rstrip()
    other = within(B, *line.split()[1:2], *words_of(line)[1:])["session"]
    before = told("history", other)["steps"]
    agent = kind(Chance(3))

    end = agent.run(line)

    assert end.status in {"completed", "failed"}
    assert flow("session", "verify").status == 0
    assert told("history", other)["steps"] == before, "the other conversation's session has not moved"
    assert agent.refused or agent.accepted
