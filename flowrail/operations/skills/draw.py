"""Read the workflow to draw: that of a skill, or that of a session with its records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flowrail.command import Command
from flowrail.discovery.locations import Root
from flowrail.errors import FlowError, UsageError
from flowrail.machines.definition.findings import Finding, raise_errors
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.loaded_workflow import COMPUTED
from flowrail.machines.loading.workflow_source import ReadFile
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.store import Store
from flowrail.skills.summary import definition_of


class Subject(NamedTuple):
    """A workflow to draw. ``records`` are those of a session, read once; ``computed`` is true if code was left out.

    ``errors`` is the number of its errors; the drawing may lack the parts that have errors. ``address`` is the name that
    the workflow was found by, which may differ from the name in it.
    """

    workflow: Workflow
    records: Iterable[Record] = ()
    computed: bool = False
    errors: int = 0
    address: str = ""


class ComputedWorkflowError(FlowError):
    """No step of a workflow in Python can be read without running its file."""

    code = "COMPUTED_WORKFLOW"


class OtherSkillError(UsageError):
    """The session runs another workflow than the named one."""

    code = "OTHER_SKILL"


def of_skill(address: str, roots: Sequence[Root], read: ReadFile = workflow_source.read) -> Subject:
    """Return the workflow at *address* as far as it can be read."""
    definition, findings = drawable(*definition_of(address, roots, read))
    return Subject(
        definition,
        computed=any(finding.code == COMPUTED for finding in findings),
        errors=sum(finding.severity == "error" for finding in findings),
        address=address,
    )


def drawable(definition: Workflow, findings: Sequence[Finding]) -> tuple[Workflow, Sequence[Finding]]:
    """Return both arguments; raise an error if the workflow has no step that can be drawn."""
    if not definition.steps:
        raise_errors(definition.name, findings)
    if not definition.steps and any(finding.code == COMPUTED for finding in findings):
        raise ComputedWorkflowError(
            f"the steps of `{definition.name}` are computed when its workflow.py runs",
            hint="run it, if it is your own or approved: add `--run` to the command",
            workflow=definition.name,
        )
    return definition, findings


def of_session(session_id: str, address: str | None, store: Store) -> Subject:
    """Return the stored workflow of a session and its records; *address*, if given, must be its skill."""
    skill = store.read(session_id).session.skill
    if address is not None and address != skill:
        raise OtherSkillError(
            f"session `{session_id}` runs `{skill}`, not `{address[:80]}`",
            hint=Command("diagram", skill, session=session_id),
            session=session_id,
            skill=skill,
        )
    return Subject(store.workflow(session_id), store.records(session_id))
