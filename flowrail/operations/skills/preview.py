"""Preview the text that an agent reads at a step, without a session, and print resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flowrail.command import Command, Hint
from flowrail.errors import UsageError
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.script_steps import QRState, QRStatus
from flowrail.machines.definition.step import DONE, Outcome, StepDef, fact_args
from flowrail.machines.definition.step_parts import Severity
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import reviews
from flowrail.machines.engine.advance import entered
from flowrail.machines.engine.reports import ValuesError, read_values
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.loading.skill_folder import UnknownResourceError
from flowrail.machines.sessions.session import Move, RecordedFinding, Session
from flowrail.operations.running.load_workflow import open_skill
from flowrail.skills.loader import Loader
from flowrail.text.phrases import did_you_mean, listed


def preview(
    address: str,
    step_id: str,
    loader: Loader,
    *,
    params: Mapping[str, object] | None = None,
    facts: Mapping[str, object] | None = None,
    visit: int = 1,
    total: int | None = None,
    qr: QRState | None = None,
) -> Guidance:
    """Return the guidance of a step, given by its id or number, as if a session were at it.

    A parameter without a value or default has its example. *total* is the number of steps that the caller expects, *qr*
    the state of the review loop.
    """
    opened = open_skill(address, loader)
    workflow = opened.workflow
    if total is not None and total != workflow.total_steps:
        raise UsageError(
            f"`{address}` has {workflow.total_steps} steps, not {total}",
            code="WRONG_TOTAL",
            hint="leave out --total-steps; the workflow determines it",
            total=workflow.total_steps,
        )
    step = workflow.get(step_id) or _by_number(workflow, step_id)
    if step is None:
        ids = [declared.id for declared in workflow.steps]
        raise UsageError(
            f"`{address}` has no step `{step_id[:80]}`",
            code="UNKNOWN_STEP",
            hint=did_you_mean(step_id[:80], ids, Hint("see its steps: ", Command("show", address))),
            step=step_id[:80],
            steps=ids,
        )
    known: dict[str, Arg] = {
        name: arg for declared in workflow.steps for name, arg in fact_args(declared).items()
    }
    usual = {name: arg.default if arg.has_default else arg.example for name, arg in workflow.params.items()}
    usual = {name: value for name, value in usual.items() if value is not None}
    session = Session(
        id="",
        skill=address,
        step=step.id,
        source=opened.source,
        params=Frozen({**usual, **_read_declared(params or {}, workflow.params)}),
        state=Frozen(
            read_values(facts or {}, known)
            if any(callable(declared.handler) for declared in workflow.steps)  # which may return anything
            else _read_declared(facts or {}, known)
        ),
        visits=Frozen({step.id: visit}),
    )
    session = entered(workflow, _in_loop(workflow, step, session, qr) if qr else session)
    return _without_commands(guide(workflow, session, place=""))


def _in_loop(workflow: Workflow, step: StepDef, session: Session, qr: QRState) -> Session:
    """Return *session* as it would be in the review loop of *step*, unchanged if there is no such loop."""
    if step.gate is not None:
        findings = [RecordedFinding("F1", str(Severity.MUST), "")] if qr.status is QRStatus.FAIL else []
        ended = Frozen({step.gate.review: 0}) if qr.status is not None else session.entered
        return replace(session, findings=tuple(findings), entered=ended)
    gates = reviews.gates(workflow)
    gate = next((name for name in gates if workflow.step(name).next_step(Outcome.FAIL) == step.id), None)
    if gate is None or not qr.failed:
        return session
    failed = max(1, session.visit - 1)
    visits = Frozen({**session.visits, gate: failed})
    return replace(
        session, visits=visits, last=Move(gate, DONE, Outcome.FAIL, step.id), decided=Frozen({gate: 0})
    )


def _without_commands(guidance: Guidance) -> Guidance:
    """Return the guidance without commands that need a session."""
    loop = guidance.loop
    if loop is not None and loop.severities and loop.mode in {"fix", "failed", "ask-user"}:
        loop = replace(loop, blocking=("the findings on record",))
    return replace(
        guidance,
        next=tuple(replace(transition, command=None) for transition in guidance.next),
        dispatches=tuple(
            replace(dispatch, command=None, again_command=None, relay_command=None)
            for dispatch in guidance.dispatches
        ),
        questions=tuple(replace(asked, command=None, choices=()) for asked in guidance.questions),
        findings=(),
        finding_command=None,
        loop=loop,
    )


def _read_declared(raw: Mapping[str, object], declared: Mapping[str, Arg]) -> dict[str, object]:
    values = read_values(raw, declared)
    for name in values:
        if name not in declared:
            raise ValuesError(
                "",
                [f"there is no parameter or fact `{name}`"],
                hint=did_you_mean(name, declared, f"there are: {', '.join(declared) or 'none'}"),
                names=list(declared),
            )
    return values


def _by_number(workflow: Workflow, text: str) -> StepDef | None:
    if text.isascii() and text.isdigit() and 0 < int(text[:6]) <= workflow.total_steps:
        return workflow.steps[int(text[:6]) - 1]
    return None


def resource_text(address: str, name: str, loader: Loader) -> str:
    """Return a resource of that workflow; refuse an unknown name."""
    definition = loader.load(address).definition
    if name not in definition.resources:
        known = f"it quotes {listed(definition.resources)}" if definition.resources else "it quotes none"
        raise UnknownResourceError(
            f"workflow `{address}` quotes no resource `{name[:80]}`",
            hint=did_you_mean(name[:80], definition.resources, known),
            resource=name[:80],
        )
    return definition.resources[name]
