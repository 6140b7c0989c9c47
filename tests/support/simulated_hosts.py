"""Simulated hosts: they call the hooks, compact contexts, and let agents try to stop at each step.

After its context was compacted, an agent knows only what the hook says, and continues from there.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from support.hooks import HOSTS, A, context, conversation, hook, reason
from support.sandbox import Ran
from support.simulated_agents import Habit, StepOutput, Team, Work

from flowrail.hooks.first_look import StoreFolder, sessions_of
from flowrail.machines.session_store import Store
from flowrail.storage.file_store import FileBackend
from flowrail.storage.user_folders import state_folder
from flowrail.storage.user_mark import Owner

RESUME = re.compile(r"does not change the session: `(flow resume [^`]*)`")


class Host(Team):
    """One conversation of a host, with its sub-agents.

    *gate* is held while a command runs, for several conversations at once. At each step its agents try to end
    *tries* times, and without a number until they may.
    """

    def __init__(
        self,
        habit: Habit | None = None,
        *,
        name: str = A,
        kind: str = "claude-code",
        gate: AbstractContextManager[object] | None = None,
        tries: int | None = 1,
    ) -> None:
        super().__init__(habit or Habit())
        self.name = name
        self.says, self.variable = HOSTS[kind]
        self.gate = gate or nullcontext()
        self.tries = tries
        self.agents: list[str] = []
        self.held: Counter[tuple[str, str, int, int]] = Counter()
        self.by_agents = 0
        self.compacted = 0
        self.mine: str = ""

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        with self.gate, conversation(self.name, self.variable):
            ran = super()._ran(line, refused=refused)
        if self.agents:
            self.by_agents += 1
            said = self.says(
                "post-tool-use", self.name, agent_id=self.agents[-1], tool_input={"command": line}
            )
            with self.gate:
                hook("post-tool-use", said)
        return ran

    def _work(self, work: Work) -> str:
        self.agents.append(f"agent-{self.commands}")
        try:
            return super()._work(work)
        finally:
            self.agents.pop()

    def between(self, output: StepOutput) -> StepOutput:
        """Try to stop; then compact the context and continue from what the hook says."""
        self.mine = self.mine or output.session
        self._stop(output)
        if self.agents or output.status not in {"active", "waiting"}:
            return output
        self._compare_fast_lookup()
        again = self._compact()
        assert (again.session, again.step, again.visit) == (output.session, output.step, output.visit)
        return again

    def _compact(self) -> StepOutput:
        with self.gate:
            text = context(hook("session-start", self.says("session-start", self.name, source="compact")))
        (resume,) = RESUME.findall(text)
        assert self.mine in resume, text
        self.compacted += 1
        return self._output(resume)

    def _compare_fast_lookup(self) -> None:
        """Check that the lookup of the hooks, which reads snapshots, agrees with the journals."""
        with self.gate:
            folder = StoreFolder(os.path.join(os.getcwd(), ".flow"), None)
            seen = {
                found.id: (found.data["status"], found.data["step"], found.is_child)
                for found in sessions_of(folder, (self.name,))
            }
            store = Store(FileBackend(folder.path, Owner(state_folder(os.environ, os.environ["HOME"]))))
            kept = (store.read(session).session for session in self.sessions)
            expected = {each.id: (each.status, each.step, bool(each.parent)) for each in kept if each.is_open}
        assert seen == expected

    def _stop(self, output: StepOutput) -> None:
        event = "subagent-stop" if self.agents else "stop"
        more = {"agent_id": self.agents[-1]} if self.agents else {}
        here = (output.session, output.step, output.visit, self.by_agents if output.work else 0)
        attempts = 0
        while attempts != self.tries:
            attempts += 1
            with self.gate:
                why = reason(hook(event, self.says(event, self.name, **more)))
            assert bool(why) == (output.status == "active" and self.held[here] < 3), (output, why)
            if not why:
                return
            assert why.startswith("You are not finished: ")
            assert f"flow resume {output.session} " in why
            self.held[here] += 1


class AgentDiedError(Exception):
    """A sub-agent ended without an answer."""


class ForgetfulHost(Host):
    """Compacts the lead's context after every second command; every third sub-agent dies after its second one."""

    def __init__(self, habit: Habit | None = None) -> None:
        super().__init__(habit)
        self.launched = 0
        self.died = 0
        self.leads: list[str] = []
        self.used: Counter[str] = Counter()

    def _continue(self, output: StepOutput) -> StepOutput:
        self.leads.append(output.session)
        try:
            return super()._continue(output)
        finally:
            self.leads.pop()

    def _work(self, work: Work) -> str:
        self.launched += 1
        depth = len(self.leads)
        try:
            return super()._work(work)
        except AgentDiedError:
            self.died += 1
            del self.leads[depth:]
            return f"flow resume {self.leads[-1]} --store {Path.cwd() / '.flow'}"

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        if self.agents:
            agent = self.agents[-1]
            self.used[agent] += 1
            if self.launched % 3 == 0 and self.used[agent] == 3:
                raise AgentDiedError
        return super()._ran(line, refused=refused)

    def between(self, output: StepOutput) -> StepOutput:
        self.mine = self.mine or output.session
        self._stop(output)
        if self.agents or output.status not in {"active", "waiting"} or self.commands % 2:
            return output
        return self._compact()

    def _stop(self, output: StepOutput) -> None:
        event = "subagent-stop" if self.agents else "stop"
        more: dict[str, object] = {"agent_id": self.agents[-1]} if self.agents else {"background_tasks": []}
        why = reason(hook(event, self.says(event, self.name, **more)))
        if why:
            assert why.startswith("You are not finished: ")
            assert f"flow resume {output.session} " in why
