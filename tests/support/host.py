"""A host of agents: it calls our hooks, shortens contexts after every step, and lets agents try to stop at each.

Whoever leads knows nothing after its context was shortened but what the hook tells: it goes on from there.
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

_GOES_ON = re.compile(r"of this conversation: `(flow resume [^`]*)`")


class Host(Team):
    """One conversation of a host, with its sub-agents.

    *gate* is held whenever anything is run, for several conversations at once. It tries to stop *tries* times
    where an agent is held, and until it is let go where there is no number.
    """

    def __init__(
        self,
        transcripts: Path,
        habit: Habit | None = None,
        *,
        name: str = A,
        kind: str = "claude-code",
        gate: AbstractContextManager[object] | None = None,
        tries: int | None = 1,
    ) -> None:
        super().__init__(habit or Habit())
        self.transcripts = transcripts
        self.name = name
        self.says, self.variable = HOSTS[kind]
        self.gate = gate or nullcontext()
        self.tries = tries
        self.agents: list[Path] = []
        self.held: Counter[tuple[str, str, int]] = Counter()
        self.shortened = 0
        self.mine: str = ""

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        with self.gate, conversation(self.name, self.variable):
            ran = super()._ran(line, refused=refused)
        if self.agents:
            with self.agents[-1].open("a", encoding="utf-8") as transcript:
                transcript.write(f"{line}\n{ran.out}\n")
        return ran

    def _work(self, work: Work) -> str:
        self.agents.append(self.transcripts / f"agent-{self.commands}.jsonl")
        self.agents[-1].write_text(f"{work.command}\n")
        try:
            return super()._work(work)
        finally:
            self.agents.pop()

    def between(self, told: Told) -> Told:
        """Try to stop; then, for whoever leads, forget everything and go on from what the hook tells."""
        self.mine = self.mine or told.session
        self._stop(told)
        if self.agents or told.status not in {"active", "waiting"}:
            return told
        self._glance()
        with self.gate:
            text = context(hook("session-start", self.says("session-start", self.name, source="compact")))
        goes_on = _GOES_ON.findall(text)
        assert [self.mine in each for each in goes_on] == [True], (self.mine, text)
        self.shortened += 1
        again = self._told(goes_on[0])
        assert (again.session, again.step, again.visit) == (told.session, told.step, told.visit)
        return again

    def _glance(self) -> None:
        """Hold that a quick look at the copies sees what the journals say."""
        with self.gate:
            (shelf,) = session_folders(os.getcwd(), {})
            seen = {
                each.id: (each.status, each.step, each.is_child) for each in sessions_of(shelf, (self.name,))
            }
            state = state_folder(os.environ, os.environ["HOME"])
            kept = (Store(shelf.path, Owner(state)).read(each).session for each in self.sessions)
            true = {each.id: (each.status, each.step, bool(each.parent)) for each in kept if each.is_open}
        assert seen == true

    def _stop(self, told: Told) -> None:
        event = "subagent-stop" if self.agents else "stop"
        more = {"agent_transcript_path": str(self.agents[-1])} if self.agents else {}
        here = (told.session, told.step, told.visit)
        attempts = 0
        while attempts != self.tries:
            attempts += 1
            with self.gate:
                why = reason(hook(event, self.says(event, self.name, **more)))
            assert bool(why) == (told.status == "active" and self.held[here] < 3), (told, why)
            if not why:
                return
            assert f"session {told.session} is at step `{told.step}`" in why
            self.held[here] += 1
