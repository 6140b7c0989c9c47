"""For tests of one's own workflows: domains and inputs, one invocation, a run in memory, strategies.

Nothing here needs pytest; `workflows`, `sessions`, `parameters` and `actions` are Hypothesis strategies and
need hypothesis, which is imported when one of them is asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flowrail.machines import asking, dispatching, reviewing
from flowrail.machines.acts import REASON, Act, acts, perform
from flowrail.machines.advance import advance, start
from flowrail.machines.definition import Definition
from flowrail.machines.domains import BoundedInt, ChoiceSet, Constant
from flowrail.machines.explore import ITERATION, STEP, TOTAL, extract_schema, generate_inputs, input_id
from flowrail.machines.frozen import freeze_deep
from flowrail.machines.guidance import Guidance, guide
from flowrail.machines.session import Report, Session
from flowrail.machines.values import fact_args
from flowrail.machines.walks import Plan, Walk, plan
from flowrail.machines.workflow import Workflow
from flowrail.rehearsal.process import exit_status
from flowrail.rehearsal.replaying import ended

if TYPE_CHECKING:
    from flowrail.rehearsal.strategies import actions, parameters, sessions, workflows

__all__ = [
    "Act",
    "BoundedInt",
    "ChoiceSet",
    "Constant",
    "Plan",
    "Run",
    "Walk",
    "actions",
    "acts",
    "extract_schema",
    "generate_inputs",
    "input_id",
    "load",
    "parameters",
    "perform",
    "plan",
    "run_skill_invocation",
    "sessions",
    "workflows",
]
_STRATEGIES = frozenset({"actions", "parameters", "sessions", "workflows"})


def __getattr__(name: str) -> Any:
    if name not in _STRATEGIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("flowrail.rehearsal.strategies"), name)


def run_skill_invocation(workflow: Definition, params: Mapping[str, Any]) -> int:
    """Return the exit status of telling one step with *params*, one of `generate_inputs`.

    The workflow is found by its name, as `flow preview` finds it, in a process of its own.
    """
    step = workflow.steps[params[STEP] - 1]
    words = ["preview", workflow.name, step.id]
    for name, value in params.items():
        if name in {STEP, TOTAL}:
            continue
        if name == ITERATION:
            words += ["--visit", str(value)]
        else:
            is_fact = name in fact_args(step) or name not in workflow.params
            words += ["-s" if is_fact else "-p", f"{name}={_said(value)}"]
    return exit_status(words)


def load(address: str, *, root: str | None = None) -> Workflow:
    """Return the workflow that `flow step` would run from here, ready to run; *root* is looked through first.

    Python of a project has to be allowed, as for `flow step`.
    """
    from flowrail.discovery.locations import skill_roots
    from flowrail.machines.keys import state_folder
    from flowrail.skills.opening import open_skill

    home = os.path.expanduser("~")
    roots = skill_roots(os.getcwd(), home, os.environ, () if root is None else (root,))
    return open_skill(address, roots, state_folder(os.environ, home)).workflow


class Run:
    """A run in memory, one call a move: ``Run(workflow, mode="quick").report("ok").step == "look"``.

    Every call returns the run itself. Nothing is written; what a command would refuse is raised.
    """

    def __init__(self, workflow: Definition, /, **params: Any) -> None:
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
        known = asking.asked(self.session)
        unknown = answers.keys() - {each.id for each in known}
        if unknown:
            raise ValueError(f"step {self.step!r} does not ask {min(unknown)!r}")
        answered = [
            each.answered(_words(answers[each.id]), at="", by="test", reason=REASON)
            if each.id in answers
            else each
            for each in known
        ]
        self.session = asking.with_questions(self.session, answered)
        return self

    def agents(self, *outcomes: str) -> Run:
        """Let the step's agents come back, the first with the first outcome, and so on.

        `cancelled` is for work that was called off, an empty text for an agent that is not back yet.
        """
        states = list(dispatching.states(self.session))
        if len(outcomes) > len(states):
            raise ValueError(f"step {self.step!r} hands out {len(states)} pieces of work")
        for at, outcome in enumerate(outcomes):
            states[at] = ended(states[at], str(outcome))
        self.session = dispatching.with_states(self.session, states)
        return self

    def finding(self, severity: str, text: str = "something is wrong") -> Run:
        """Record a finding of the review at hand."""
        self.session, _ = reviewing.record(self.workflow, self.session, severity=severity, text=text)
        return self

    def resolve(self, finding: str) -> Run:
        """Take back a finding, by its id: ``F1`` is the first."""
        self.session, _ = reviewing.resolve(self.workflow, self.session, finding)
        return self


def _words(answer: str | Sequence[str]) -> Sequence[str]:
    return [answer] if isinstance(answer, str) else answer


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=list)
