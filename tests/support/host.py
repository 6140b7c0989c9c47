"""A simulated host: it calls the hooks, compacts contexts, and lets agents try to stop at each step.

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
from support.team import Habit, Team, Told, Work

from flowrail.hooks.fast_lookup import session_folders, sessions_of
from flowrail.machines.sessions.store import Store
from flowrail.storage.ownership import Owner, state_folder

RESUME = re.compile(r"does not move the session: `(flow resume [^`]*)`")


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

    def between(self, told: Told) -> Told:
        """Try to stop; then forget everything and continue from what the hook says."""
        self.mine = self.mine or told.session
        self._stop(told)
        if self.agents or told.status not in {"active", "waiting"}:
            return told
        self._glance()
        with self.gate:
            text = context(hook("session-start", self.says("session-start", self.name, source="compact")))
        resume = RESUME.findall(text)
        assert [self.mine in command for command in resume] == [True], (self.mine, text)
        self.compacted += 1
        again = self._told(resume[0])
        assert (again.session, again.step, again.visit) == (told.session, told.step, told.visit)
        return again

    def _glance(self) -> None:
        """Hold that a quick look at the copies sees what the journals say."""
        with self.gate:
            (shelf,) = session_folders(os.getcwd(), {}, os.path.expanduser("~"))
            seen = {
                each.id: (each.status, each.step, each.is_child) for each in sessions_of(shelf, (self.name,))
            }
            state = state_folder(os.environ, os.environ["HOME"])
            kept = (Store(shelf.path, Owner(state)).read(each).session for each in self.sessions)
            true = {each.id: (each.status, each.step, bool(each.parent)) for each in kept if each.is_open}
        assert seen == true

    def _stop(self, told: Told) -> None:
        event = "subagent-stop" if self.agents else "stop"
        more = {"agent_id": self.agents[-1]} if self.agents else {}
        progress = self.by_agents if told.work else 0
        here = (told.session, told.step, told.visit, progress)
        attempts = 0
        while attempts != self.tries:
            attempts += 1
            with self.gate:
                why = reason(hook(event, self.says(event, self.name, **more)))
            assert bool(why) == (told.status == "active" and self.held[here] < 3), (told, why)
            if not why:
                return
            assert why.startswith("You are not finished: ")
            assert f"flow resume {told.session} " in why
            self.held[here] += 1


class AgentDiedError(Exception):
    """A sub-agent is gone, without an answer."""


class ForgetfulHost(Host):
    """Compacts the lead's context after every second command; every third sub-agent dies after its second one."""

    def __init__(self, habit: Habit | None = None) -> None:
        super().__init__(habit)
        self.launched = 0
        self.died = 0
        self.leads: list[str] = []
        self.used: Counter[str] = Counter()

    def _go_on(self, told: Told) -> Told:
        self.leads.append(told.session)
        try:
            return super()._go_on(told)
        finally:
            self.leads.pop()

    def _to_launch(self, told: Told) -> list[Work]:
        gone = [work for work in told.work if work.status == "claimed"]
        return super()._to_launch(told) or ([] if told.met else gone)

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

    def between(self, told: Told) -> Told:
        self.mine = self.mine or told.session
        self._stop(told)
        if self.agents or told.status not in {"active", "waiting"} or self.commands % 2:
            return told
        text = context(hook("session-start", self.says("session-start", self.name, source="compact")))
        (resume,) = RESUME.findall(text)
        self.compacted += 1
        return self._told(resume)

    def _stop(self, told: Told) -> None:
        if self.agents:
            said = self.says("subagent-stop", self.name, agent_id=self.agents[-1])
            why = reason(hook("subagent-stop", said))
        else:
            why = reason(hook("stop", self.says("stop", self.name, background_tasks=[])))
        if why:
            assert why.startswith("You are not finished: ")
            assert f"flow resume {told.session} " in why
