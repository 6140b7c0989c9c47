"""Read a workflow for its author by running it, if it is written in Python and may run."""

from __future__ import annotations

import os
from collections.abc import Sequence

from flowrail.discovery.locations import Root
from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition.findings import Finding, Path, Place, WorkflowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import HandlerError
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.run_python import NotLoadedError, run
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.operations.environment import Environment
from flowrail.operations.running.load_workflow import allowed_contents, skill_in


def run_file(file: WorkflowFile, roots: Sequence[Root], state: str) -> LoadedWorkflow:
    """Return the workflow in *file*; Python is run, which must be approved unless the skill is the user's own.

    Problems of the file become findings, as they do if the file is read as text.
    """
    if not file.is_python:
        return workflow_source.read(file, convention=Environment().convention)
    contents = allowed_contents(skill_in(file.folder, roots), file, roots, state)
    try:
        loaded = run(file, contents, convention=Environment().convention)
    except WorkflowError as error:
        return _with_findings(file, error.findings)
    except (NotLoadedError, HandlerError) as error:
        return _with_findings(
            file, [Finding("FR100", "error", error.message, "fix the file", Place(file.path))]
        )

    def locate(path: Path) -> Place:
        return _inside(file, loaded.locate(path))

    return loaded._replace(findings=tuple(check_workflow(loaded.definition, locate=locate)), locate=locate)


def _with_findings(file: WorkflowFile, findings: Sequence[Finding]) -> LoadedWorkflow:
    relative = tuple(finding._replace(place=_inside(file, finding.place)) for finding in findings)
    return LoadedWorkflow(Workflow(file.address, validate=False), relative, lambda _: Place(file.path))


def _inside(file: WorkflowFile, place: Place) -> Place:
    """Return *place* relative to the skill's folder, as findings have it."""
    return place._replace(file=place.file.removeprefix(os.path.join(file.folder, "")))
