"""A run in memory, for tests of one's own: one call a move, nothing written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from flowrail.discovery.locations import skill_roots
from flowrail.machines.definition.frozen import freeze_deep
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import agents as engine_agents
from flowrail.machines.engine import questions, reviews
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.exploration.actions import REASON
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.sessions.session import Report, Session
from flowrail.machines.sessions.store import Store
from flowrail.machines.sessions.user_key import Owner, state_folder
from flowrail.operations.running.open_workflow import open_skill
from flowrail.operations.running.steps import World
from flowrail.testing.record.replay import ended
from flowrail.testing.walks.stage import Inside


def load(address: str, *, root: str | None = None, start: str | None = None) -> Workflow:
    """Return the workflow that `flow step` would run, ready to run; *root* is looked through first.

    It is looked for from the folder *start* on, the current one unless given. Python of a project has
    to be allowed, as for `flow step`.
    """
    home = os.path.expanduser("~")
    roots = skill_roots(start or os.getcwd(), home, os.environ, () if root is None else (root,))
    return open_skill(address, roots, state_folder(os.environ, home)).workflow


def stage_in(folder: str, start: str) -> Inside:
    """Return a stage whose sessions lie in *folder*; skills are looked for from *start* on."""
    home = os.path.expanduser("~")
    store = os.path.join(folder, "store")
    return Inside(
        World(
            store=Store(store, Owner(os.path.join(folder, "state"))),
            roots=skill_roots(start, home, os.environ),
            state=state_folder(os.environ, home),
            now=this_moment,
            by="a test",
            shown_store=store,
        )
    )


def this_moment() -> str:
    """Return the time now, in the form of a record."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Run:
    """A run in memory, one call a move: ``Run(workflow, mode="quick").report("ok").step == "look"``.

    Every call returns the run itself. Nothing is written; what a command would refuse is raised.
    """

    def __init__(self, workflow: Workflow, /, **params: Any) -> None:
        self.workflow = workflow
        self.session: Session = start(workflow, params)

    @property
    def step(self) -> str | None:
        """The step at hand; `None` where the run has ended."""
        return self.session.step

    @property
    def status(self) -> str:
        """How the run stands: active, waiting, completed or failed."""
        return self.session.status

    @property
    def guidance(self) -> Guidance:
        """What an agent would be told now."""
        return guide(self.workflow, self.session)

    @property
    def told(self) -> str:
        """The text of the step at hand."""
        return "\n".join(self.guidance.actions)

    def report(self, outcome: str = "done", /, **facts: Any) -> Run:
        """Report how the step went."""
        given = {name: freeze_deep(value) for name, value in facts.items()}
        self.session = advance(self.workflow, self.session, Report(str(outcome), given))
        return self

    def answer(self, **answers: str | Sequence[str]) -> Run:
        """Answer questions by their ids, each by the label of an option, or by several."""
        known = questions.asked(self.session)
        unknown = answers.keys() - {each.id for each in known}
        if unknown:
            raise ValueError(f"step {self.step!r} does not ask {min(unknown)!r}")
        answered = [
            each.answered(_words(answers[each.id]), at="", by="test", reason=REASON)
            if each.id in answers
            else each
            for each in known
        ]
        self.session = questions.with_questions(self.session, answered)
        return self

    def agents(self, *outcomes: str) -> Run:
        """Let the step's agents come back, the first with the first outcome, and so on.

        `cancelled` is for work that was called off, an empty text for an agent that is not back yet.
        """
        states = list(engine_agents.states(self.session))
        if len(outcomes) > len(states):
            raise ValueError(f"step {self.step!r} hands out {len(states)} pieces of work")
        for at, outcome in enumerate(outcomes):
            states[at] = ended(states[at], str(outcome))
        self.session = engine_agents.with_states(self.session, states)
        return self

    def finding(self, severity: str, text: str = "something is wrong") -> Run:
        """Record a finding of the review at hand."""
        self.session, _ = reviews.record(self.workflow, self.session, severity=severity, text=text)
        return self

    def resolve(self, finding: str) -> Run:
        """Take back a finding, by its id: ``F1`` is the first."""
        self.session, _ = reviews.resolve(self.workflow, self.session, finding)
        return self


def _words(answer: str | Sequence[str]) -> Sequence[str]:
    return [answer] if isinstance(answer, str) else answer
