"""Show a workflow, or what one of its steps prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from flowrail.command import Command, Hint, value_text
from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.markdown import transitions_of
from flowrail.errors import UsageError
from flowrail.machines.findings import Finding
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.guide import guide
from flowrail.machines.outcome_decision import NO_SESSION
from flowrail.machines.reported_values import read_values
from flowrail.machines.session import Session
from flowrail.machines.step import StepDef
from flowrail.machines.transition import entered
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import NO_VALUES, Facts, Params, Skill
from flowrail.operations.skills.list import ListedSkill, described
from flowrail.operations.steps.shown_step import ShownStep
from flowrail.text.phrases import count
from flowrail.text.report import Report, Table, columns, paragraphs, section, title
from flowrail.text.safe_text import one_line
from flowrail.text.unknown_names import unknown


@dataclass(frozen=True)
class ShownWorkflow(ListedSkill):
    """A workflow with its steps."""

    workflow: Workflow = field(default=Workflow("", validate=False))
    """The workflow, in the keys of `workflow.yaml`."""
    findings: tuple[Finding, ...] = ()
    """What `flow check` finds in it."""

    def report(self) -> Report:
        """Return what a person reads."""
        drawn, declared = picture(self.workflow), self.workflow.params
        steps = [
            [
                str(node.number),
                node.id,
                node.title,
                node.phase or "",
                "; ".join(node.notes),
                transitions_of(drawn, node),
            ]
            for node in drawn.nodes
            if node.is_step
        ]
        head = columns(
            "#", "step", "title", "phase", "notes", "transitions", wraps=("title", "notes", "transitions")
        )
        params = [[name, arg.kind, _about(arg)] for name, arg in declared.items()]
        return paragraphs(
            [
                title(f"{self.name} · {count(self.total_steps, 'step')} · {self.source}"),
                one_line(self.description),
            ],
            [Table(columns("parameter", "type", "about", wraps=("about",)), params)] if params else [],
            [Table(head, steps)] if steps else [],
            section("Other workflows", [f"  {one_line(name)}" for name in self.workflows]),
            section("Findings", [f"  {one_line(finding.line)}" for finding in self.findings]),
        )


def _about(arg: Arg) -> str:
    words = ["required"] if arg.required else []
    words += [f"one of {', '.join(map(str, arg.choices))}"] if arg.choices else []
    words += (
        [f"default {value_text(arg.default)}"] if arg.has_default and arg.default not in (None, "") else []
    )
    words += [f"such as {value_text(arg.example)}"] if arg.example is not None else []
    return "; ".join(words)


@operation(
    "show",
    "flow show problem-analysis",
    "flow show problem-analysis 3",
    "flow show problem-analysis investigate -s confidence=low --attempt 2",
)
def show(
    environment: Environment,
    skill: Skill,
    step: Annotated[str | None, Help("The id or the number of a step.")] = None,
    *,
    param: Params = NO_VALUES,
    fact: Facts = NO_VALUES,
    attempt: Annotated[int, Help("Which attempt at the step this is.", metavar="N")] = 1,
    total_steps: Annotated[int | None, Help("The number of steps; checked if given.", metavar="N")] = None,
) -> ShownWorkflow | ShownStep:
    """Show a skill's steps, transitions and parameters, or what one step prints

    With STEP, prints what an agent reads at that step without starting a session. A parameter without a value or
    default has its example. The commands name SESSION.
    """
    if step is None:
        found, file = environment.loader.find(skill)
        loaded = environment.loader.read(file)
        listed = described(found, skill, loaded)
        return ShownWorkflow(**vars(listed), workflow=loaded.definition, findings=loaded.findings)
    opened = environment.loader.open_skill(skill)
    if attempt < 1 or total_steps not in {None, opened.workflow.total_steps}:
        raise UsageError(
            f"`{skill}` has {opened.workflow.total_steps} steps, and attempts are counted from 1",
            code="WRONG_TOTAL",
            hint="leave out --total-steps; the workflow determines it",
            total=opened.workflow.total_steps,
        )
    session = _session(opened.workflow, skill, _step(opened.workflow, skill, step), param, fact, attempt)
    return ShownStep(**vars(guide(opened.workflow, entered(opened.workflow, session))))


def _step(workflow: Workflow, address: str, named: str) -> StepDef:
    """Return the step with that id or number; refuse an unknown one."""
    is_number = named.isascii() and named.isdigit() and 0 < int(named[:6]) <= workflow.total_steps
    step = workflow.get(named) or (workflow.steps[int(named[:6]) - 1] if is_number else None)
    if step is None:
        ids = [declared.id for declared in workflow.steps]
        steps = Hint("see its steps: ", Command("show", address))
        raise unknown(f"step of `{address}`", named, ids, code="UNKNOWN_STEP", otherwise=steps)
    return step


def _session(
    workflow: Workflow,
    address: str,
    step: StepDef,
    params: Mapping[str, object],
    facts: Mapping[str, object],
    visit: int,
) -> Session:
    """Return a session that is at *step*, with these values."""
    known = workflow.fact_args
    usual = {name: arg.default if arg.has_default else arg.example for name, arg in workflow.params.items()}
    usual = {name: value for name, value in usual.items() if value is not None}
    takes_any_fact = any(callable(declared.handler) for declared in workflow.steps)
    state = read_values(facts, known) if takes_any_fact else _read_declared(facts, known)
    return Session(
        id=NO_SESSION,
        skill=address,
        step=step.id,
        params=Frozen({**usual, **_read_declared(params, workflow.params)}),
        state=Frozen(state),
        visits=Frozen({step.id: visit}),
    )


def _read_declared(raw: Mapping[str, object], declared: Mapping[str, Arg]) -> dict[str, object]:
    values = read_values(raw, declared)
    for name in values.keys() - declared.keys():
        raise unknown("parameter or fact", name, declared)
    return values
