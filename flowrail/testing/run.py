"""Run a workflow in memory, for tests: one call per report, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.machines import reviews
from flowrail.machines.frozen import freeze_deep
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.session import Report, Session
from flowrail.machines.transition import advance, start
from flowrail.machines.walks.actions import ended_children, with_answers
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.steps.workflow_source import open_skill


def load(address: str, *, root: str | None = None, start: str | None = None) -> Workflow:
    """Return the workflow that `flow step` would run.

    The search begins in the folder *start* (default: the current one), after the folder of skills *root*. Python
    of a project must be approved, as for `flow step`.
    """
    environment = Environment(roots=() if root is None else (root,), cwd=start)
    return open_skill(address, environment.loader).workflow


class Run:
    """A session in memory: ``Run(workflow, mode="quick").report("ok").step == "look"``.

    Every call returns the run itself. If a command would refuse it, a `FlowError` is raised.
    """

    def __init__(self, workflow: Workflow, /, **params: object) -> None:
        self.workflow = workflow
        self.session: Session = start(workflow, params)
        self.children: dict[str, Session] = {}
        """The sessions of the step's agents."""

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
        """The guidance that `flow step` would print."""
        return guide(self.workflow, self.session, children=self.children)

    @property
    def instructions(self) -> str:
        """The instructions of the current step."""
        return "\n".join(self.guidance.actions)

    def report(self, outcome: str = "done", /, **facts: object) -> Run:
        """Report the outcome of the current step."""
        values = {name: freeze_deep(value) for name, value in facts.items()}
        report = Report(str(outcome), values)
        self.session = advance(self.workflow, self.session, report, children=self.children)
        self.children = {}
        return self

    def answer(self, **answers: str | Sequence[str]) -> Run:
        """Answer questions: each by its id, with one label of its options or several."""
        labels = {name: [words] if isinstance(words, str) else words for name, words in answers.items()}
        self.session = with_answers(self.session, labels)
        return self

    def agents(self, *outcomes: str) -> Run:
        """End the sessions of the step's agents in order, each with `ok` or `fail`.

        An empty text leaves one open.
        """
        unfinished = [""] * (len(self.session.dispatches) - len(outcomes))
        self.children = ended_children(self.session, [*map(str, outcomes), *unfinished])
        return self

    def finding(self, severity: str, text: str = "something is wrong") -> Run:
        """Record a finding of the current review."""
        self.session, _ = reviews.record(self.workflow, self.session, severity=severity, text=text)
        return self

    def resolve(self, finding: str) -> Run:
        """Resolve a finding by its id; ``F1`` is the first."""
        self.session, _ = reviews.resolve(self.workflow, self.session, finding)
        return self
