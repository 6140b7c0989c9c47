"""Find errors in the workflows that a user names by skill or path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from flowrail.discovery.locations import Root
from flowrail.discovery.scan import SKILL_FILE
from flowrail.errors import DocumentError, TrustError, UsageError
from flowrail.formatters.blocks.fences import fence_problems
from flowrail.formatters.reports import findings as page
from flowrail.machines.checks.check import advise
from flowrail.machines.checks.proof import Proof, proofs
from flowrail.machines.findings import Finding, Place, in_order
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.workflow_source import LoadedWorkflow
from flowrail.machines.reader import type_findings
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import SkillsOrPaths
from flowrail.skills.catalog import (
    Skill,
    find,
    listing,
    unread_workflows,
    with_unread_workflow,
    workflow_file,
    workflows,
)
from flowrail.skills.loader import Loader
from flowrail.skills.skill_checks import WorkflowReader, check_plain_skill, check_skill, ignored_files
from flowrail.text.report import Report


@dataclass(frozen=True)
class CheckedWorkflow:
    """One workflow and its findings."""

    workflow: str
    """Its address, or the name of a skill without a workflow, of which only SKILL.md is checked."""
    path: str
    """The folder of the skill."""
    findings: tuple[Finding, ...] = ()
    is_workflow: bool = True
    """Whether the skill has a workflow."""
    needs_approval: str = ""
    """How a person approves Python that was not checked."""
    order: tuple[Proof, ...] = ()
    """What was proved about each order rule of a workflow without errors."""


@dataclass(frozen=True)
class Checked:
    """What a check found."""

    workflows: tuple[CheckedWorkflow, ...]
    """The workflows that were checked, and those that wait for approval."""
    exit_status: int
    """1 if there is an error, or with --strict a warning; 7 if a named workflow is not approved."""

    def report(self) -> Report:
        """Return what a person reads."""
        workflows = sum(checked.is_workflow and not checked.needs_approval for checked in self.workflows)
        return page.report(
            [(checked.path, finding) for checked in self.workflows for finding in checked.findings],
            proofs=[(checked.workflow, proof) for checked in self.workflows for proof in checked.order],
            workflows=workflows,
            others=sum(not checked.is_workflow for checked in self.workflows),
        )


@operation("check", "flow check problem-analysis", "flow check --strict ./my-skill")
def check_skills(
    environment: Environment,
    skill: SkillsOrPaths = (),
    *,
    strict: Annotated[bool, Help("Fail on warnings too.")] = False,
) -> Checked:
    """Find errors in a workflow

    Checks the named skills or folders, or all installed skills, with the workflows that they dispatch.
    Checks only SKILL.md if a skill has no workflow. Proves the order rules over all paths, or shows a path that
    breaks them. Exits 1 on any error, and 7 if a named workflow in Python is not
    approved: only its own code knows its steps.
    """
    found = check(skill, environment.loader, environment.cwd)
    waiting = [checked for checked in found if checked.needs_approval]
    for checked in waiting:
        environment.tell(f"`{checked.workflow}` was not checked; {checked.needs_approval}")
    severities = {finding.severity for checked in found for finding in checked.findings}
    is_wrong = "error" in severities or (strict and severities)
    status = 1 if is_wrong else TrustError.exit_status if waiting and skill else 0
    return Checked(tuple(found), status)


def check(targets: Sequence[str], loader: Loader, cwd: str) -> list[CheckedWorkflow]:
    """Return a report on every workflow that *targets* name, or on all installed ones.

    Python that is not approved is not checked.
    """
    reader = WorkflowReader(loader)
    reports: list[CheckedWorkflow] = []
    for file in _found(targets, loader.roots, cwd):
        if isinstance(file, WorkflowFile):
            try:
                reports.append(_checked(file, reader))
            except TrustError as error:
                found_beside = () if "/" in file.address else (*ignored_files(file),)
                hint = str(error.hint)
                reports.append(CheckedWorkflow(file.address, file.folder, found_beside, needs_approval=hint))
        else:
            name, findings = os.path.basename(file), (*check_plain_skill(file),)
            reports.append(CheckedWorkflow(name, file, findings, is_workflow=False))
    return reports


def files_of(targets: Sequence[str], roots: Sequence[Root], cwd: str) -> list[WorkflowFile]:
    """Return every workflow that *targets* name, by skill or by path; without targets, all installed ones."""
    return [file for file in _found(targets, roots, cwd) if isinstance(file, WorkflowFile)]


def _found(targets: Sequence[str], roots: Sequence[Root], cwd: str) -> Iterator[WorkflowFile | str]:
    """Yield every workflow that *targets* name, and the folder of each skill that has none."""
    if not targets:
        yield from (file for skill in listing(roots) for file in workflows(skill))
        yield from with_unread_workflow(roots)
    for target in targets:
        path = os.path.normpath(os.path.join(cwd, target))
        if os.path.isfile(path):
            yield _file(path)
        elif os.path.isdir(path):
            yield from _in_folder(path, target)
        elif os.path.isabs(target) or target.startswith((".", "~")):
            raise UsageError(f"`{target}` does not exist", hint="name a skill, a folder or a file")
        else:
            skill = find(target, roots)
            yield from [workflow_file(target, skill)] if "/" in target else workflows(skill)


def _in_folder(path: str, target: str) -> list[WorkflowFile | str]:
    """Return what is in a skill's folder, or in all skills of a folder."""
    found = list(_in_skill(path))
    if not found:
        try:
            names = sorted(os.listdir(path))
        except OSError as error:
            fact = f"`{target}` cannot be read ({error.strerror})"
            raise UsageError(fact, hint="make it readable for this user") from None
        found = [file for name in names for file in _in_skill(os.path.join(path, name))]
    if not found:
        hint = "name a skill's folder, or a folder of such folders"
        raise UsageError(f"`{target}` contains no workflow", hint=hint)
    return found


def _in_skill(path: str) -> Iterator[WorkflowFile | str]:
    """Yield the workflows in the folder of a skill, or the folder itself if it has none that is read."""
    inside = list(workflows(Skill(os.path.basename(path), path, "path")))
    if inside:
        yield from inside
    elif os.path.lexists(os.path.join(path, SKILL_FILE)) or unread_workflows(path):
        yield path


def _file(path: str) -> WorkflowFile:
    folder, name = os.path.split(path)
    if os.path.basename(folder) == "scripts":
        top = os.path.dirname(folder)
        inside = workflows(Skill(os.path.basename(top), top, "path"))
        named = next((file for file in inside if file.path == f"scripts/{name}"), None)
        if named is not None:
            return named
    if os.path.basename(folder) == "workflows" and name.endswith(".yaml"):
        top, stem = os.path.dirname(folder), name.removesuffix(".yaml")
        return WorkflowFile(f"{os.path.basename(top)}/{stem}", top, f"workflows/{name}", f"steps/{stem}")
    if name.endswith((".yaml", ".yml", ".py")):
        return WorkflowFile(os.path.basename(folder), folder, name, "steps")
    raise UsageError(
        f"`{path}` is not a workflow", hint="name a workflow.yaml, a workflow.py or a skill's folder"
    )


def _checked(file: WorkflowFile, reader: WorkflowReader) -> CheckedWorkflow:
    try:
        loaded = reader.read(file)
        wrong = type_findings(loaded.definition) if file.is_python else []
        if wrong:
            findings = tuple(raw.at(loaded.locate(raw.path)) for raw in wrong)
            return CheckedWorkflow(file.address, file.folder, findings)
        referring, beside = check_skill(file, loaded, reader, fence_problems)
        findings = (*in_order((*loaded.findings, *_advice(loaded), *referring)), *beside)
        proved = () if loaded.errors else proofs(loaded.definition)
        return CheckedWorkflow(file.address, file.folder, findings, order=proved)
    except DocumentError as error:
        inside = error.place.removeprefix(os.path.join(file.folder, ""))  # the report names the folder
        place = Place.of(inside)
        findings = (Finding("FR100", "error", error.fact, str(error.hint), place),)
    return CheckedWorkflow(file.address, file.folder, findings)


def _advice(loaded: LoadedWorkflow) -> list[Finding]:
    """Return the warnings about a workflow that has no errors, and its broken order rules."""
    return [] if loaded.errors else advise(loaded.definition, loaded.locate)
