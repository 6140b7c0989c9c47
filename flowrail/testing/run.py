"""Run a workflow in memory, for tests: one call per report, nothing is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from flowrail.discovery.locations import skill_roots
from flowrail.machines.definition.parts import freeze_deep
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import questions, reviews
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.exploration.actions import REASON
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.sessions.session import Report, Session
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import World
from flowrail.operations.running.load_workflow import open_skill
from flowrail.storage.ownership import Owner, state_folder
from flowrail.testing.record.replay import finished
from flowrail.testing.walks.stage import Stage


def load(address: str, *, root: str | None = None, start: str | None = None) -> Workflow:
    """Return the workflow that `flow step` would run.

    The search begins in the folder *start* (default: the current one), after the folder of skills *root*. Python
    of a project must be approved, as for `flow step`.
    """
    home = os.path.expanduser("~")
    roots = skill_roots(start or os.getcwd(), home, os.environ, () if root is None else (root,))
    return open_skill(address, roots, state_folder(os.environ, home)).workflow


def stage_in(folder: str, start: str) -> Stage:
    """Return a stage with its store in *folder*; skills are searched from *start*."""
    home = os.path.expanduser("~")
    store = os.path.join(folder, "store")
    return Stage(
        World(
            store=Store(store, Owner(os.path.join(folder, "state"))),
            roots=skill_roots(start, home, os.environ),
            state=state_folder(os.environ, home),
            now=current_time,
            by="a test",
            shown_store=store,
            demands_evidence=False,
        )
    )


def current_time() -> str:
    """Return the current time as ISO 8601, as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Run:
    """A session in memory: ``Run(workflow, mode="quick").report("ok").step == "look"``.

    Every call returns the run itself. What a command would refuse is raised as a `FlowError`.
    """

    def __init__(self, workflow: Workflow, /, **params: object) -> None:
        self.workflow = workflow
        self.session: Session = start(workflow, params)

    @property
    def step(self) -> str | None:
        """The current step; `None` if the run has ended."""
        return self.session.step

    @property
    def status(self) -> str:
        """`active`, `waiting`, `completed` or `failed`."""
        return self.session.status

    @property
    def guidance(self) -> Guidance:
        """What `flow step` would print."""
        return guide(self.workflow, self.session)

    @property
    def instructions(self) -> str:
        """The instructions of the current step."""
        return "\n".join(self.guidance.actions)

    def report(self, outcome: str = "done", /, **facts: object) -> Run:
        """Report the outcome of the current step."""
        given = {name: freeze_deep(value) for name, value in facts.items()}
        self.session = advance(self.workflow, self.session, Report(str(outcome), given))
        return self

    def answer(self, **answers: str | Sequence[str]) -> Run:
        """Answer questions: each by its id, with one label of its options or several."""
        asked = self.session.questions
        unknown = answers.keys() - {question.id for question in asked}
        if unknown:
            raise ValueError(f"step {self.step!r} does not ask {min(unknown)!r}")
        answered = [
            questions.answer_question(
                question, _labels(answers[question.id]), at="", by="test", reason=REASON
            )
            if question.id in answers
            else question
            for question in asked
        ]
        self.session = questions.with_questions(self.session, answered)
        return self

    def agents(self, *outcomes: str) -> Run:
        """Finish the step's dispatches in order, each with an outcome or `cancelled`.

        An empty text leaves a dispatch unfinished.
        """
        dispatches = list(self.session.dispatches)
        if len(outcomes) > len(dispatches):
            raise ValueError(f"step {self.step!r} has {len(dispatches)} dispatches")
        for position, outcome in enumerate(outcomes):
            dispatches[position] = finished(dispatches[position], str(outcome))
        self.session = self.session._replace(dispatches=tuple(dispatches))
        return self

    def finding(self, severity: str, text: str = "something is wrong") -> Run:
        """Record a finding of the current review."""
        self.session, _ = reviews.record(self.workflow, self.session, severity=severity, text=text)
        return self

    def resolve(self, finding: str) -> Run:
        """Resolve a finding by its id; ``F1`` is the first."""
        self.session, _ = reviews.resolve(self.workflow, self.session, finding)
        return self


def _labels(answer: str | Sequence[str]) -> Sequence[str]:
    return [answer] if isinstance(answer, str) else answer
