"""Skills and their contents, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flowrail.errors import DocumentError, FlowError, TrustError
from flowrail.machines.definition.findings import Finding, Place
from flowrail.machines.definition.plain_form import to_plain
from flowrail.machines.definition.step import StepDef, fact_args
from flowrail.machines.definition.step_parts import GateConfig
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.skills.bundled_copies import as_bundled
from flowrail.skills.catalog import Skill, listing, workflow_file, workflows
from flowrail.skills.loader import Loader


def items(loader: Loader) -> list[dict[str, Any]]:
    """Return one item for each skill, with the number of its errors. Errors do not raise."""
    return [_item(skill, loader) for skill in listing(loader.roots)]


def show(address: str, loader: Loader) -> dict[str, Any]:
    """Return everything about one workflow except the texts of its steps."""
    skill, file = loader.find(address)
    loaded = loader.read(file)
    definition = loaded.definition
    return {
        **_head(skill, address, loaded),
        "entry": definition.entry,
        "then": definition.then,
        "steps": [_step(definition, step) for step in definition.steps],
        "findings": [finding.data() for finding in loaded.findings],
    }


def left_to_give(address: str, loader: Loader) -> dict[str, str]:
    """Return the required parameters of that workflow, each with a placeholder as its value."""
    try:
        definition = loader.load(address).definition
    except FlowError:
        return {}
    return {name: "…" for name, arg in definition.params.items() if arg.required}


def _item(skill: Skill, loader: Loader) -> dict[str, object]:
    hint = ""
    findings: tuple[Finding, ...] = ()
    try:
        loaded = loader.read(workflow_file(skill.name, skill))
    except TrustError as error:
        hint = str(error.hint)
    except DocumentError as error:
        findings = (Finding("FR100", "error", error.fact, str(error.hint), Place.of(error.place)),)
    else:
        return _head(skill, skill.name, loaded)
    empty = Workflow(skill.name, validate=False)
    return {
        **_head(skill, skill.name, LoadedWorkflow(empty, findings, lambda _: Place(""))),
        "needs_approval": hint,
    }


def _head(skill: Skill, address: str, loaded: LoadedWorkflow) -> dict[str, object]:
    definition = loaded.definition
    return {
        "name": address,
        "description": definition.description,
        "source": skill.source,
        "path": skill.folder,
        "hides": [{"source": source, "path": path} for source, path in skill.hides],
        "as_bundled": as_bundled(skill),
        "total_steps": definition.total_steps,
        "params": [_value(name, arg) for name, arg in definition.params.items()],
        "gates": [step.id for step in definition.steps if step.gate is not None],
        "workflows": [file.address for file in workflows(skill) if file.address != address],
        "needs_approval": "",
        "errors": sum(finding.severity == "error" for finding in loaded.findings),
    }


def _step(definition: Workflow, step: StepDef) -> dict[str, object]:
    return {
        "id": step.id,
        "title": step.name,
        "number": definition.number(step.id),
        "phase": step.phase,
        "when": "computed" if callable(step.when) else step.when,
        "limit": step.limit,
        "decides": step.decides,
        "reports": [_value(name, arg) for name, arg in fact_args(step).items()],
        "rules": [{"if": rule.when, "outcome": rule.outcome} for rule in step.rules],
        "dispatch": _dispatch(step),
        "questions": [asdict(question) for question in step.questions],
        "gate": _gate(step.gate),
        "forbids": list(step.forbids),
        "evidence": {outcome: [check.id for check in checks] for outcome, checks in step.evidence.items()},
        "next": {str(outcome): target for outcome, target in step.next.items()},
    }


def _gate(gate: GateConfig | None) -> dict[str, object] | None:
    if gate is None:
        return None
    return {"name": gate.name, "review": gate.review, "limit": gate.limit, "policy": gate.policy}


def _dispatch(step: StepDef) -> dict[str, object] | None:
    work = step.work
    if work is None:
        return None
    return {
        "agent": work.agent,
        "workflow": work.workflow,
        "over": list(work.over) if isinstance(work.over, tuple) else work.over,
        "vars": dict(work.vars),
        "join": work.join,
        "model": work.model,
    }


def _value(name: str, arg: Arg) -> dict[str, object]:
    return {"name": name, **to_plain(arg)}
