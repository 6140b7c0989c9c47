"""Check workflows that a user names by skill or path.

Workflows are read as text and no code in them runs, unless the caller passes another *read* function.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from flowrail.diagrams.renderers.markdown import steps_table
from flowrail.discovery.locations import Root
from flowrail.errors import DocumentError, UsageError
from flowrail.formatters.blocks.fences import fence_problems
from flowrail.machines.checks.check import advise
from flowrail.machines.definition.findings import Finding, Place, in_order, without_suppressed
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.skills import card_checks, references
from flowrail.skills.catalog import Skill, find, listing, workflow_file, workflows
from flowrail.skills.references import WorkflowInterfaces

CheckProgress = Callable[[str, int, int], None]
"""Takes the address of a workflow, the number of workflows checked before it, and the total."""


class CheckReport(NamedTuple):
    """One workflow, its folder and its findings."""

    address: str
    path: str
    findings: tuple[Finding, ...]
    is_workflow: bool = True
    """False for a skill without a workflow: only its SKILL.md is checked."""


def check(
    targets: Sequence[str],
    roots: Sequence[Root],
    cwd: str,
    *,
    read: workflow_source.ReadFile = workflow_source.read,
    progress: CheckProgress = lambda _address, _done, _total: None,
) -> list[CheckReport]:
    """Return a report on every workflow that *targets* name, or on all installed ones.

    *progress* is called before each workflow.
    """
    interfaces = WorkflowInterfaces()
    targets = [path for target in targets for path in _skills_in(target, cwd)]
    bare = [target for target in targets if _is_without_workflow(os.path.join(cwd, target))]
    others = [target for target in targets if target not in bare]
    workflow_files = files(others, roots, cwd) if others or not targets else []
    if not targets:
        bare = _with_unread_workflow(roots)
    reports: list[CheckReport] = []
    for number, file in enumerate(workflow_files):
        progress(file.address, number, len(workflow_files))
        reports.append(_checked(file, roots, interfaces, read))
    for target in bare:
        path = os.path.normpath(os.path.join(cwd, target))
        reports.append(
            CheckReport(os.path.basename(path), path, tuple(card_checks.of_card(path)), is_workflow=False)
        )
    return reports


def files(targets: Sequence[str], roots: Sequence[Root], cwd: str) -> list[WorkflowFile]:
    """Return every workflow that *targets* name, by skill or by path; without targets, all installed ones."""
    if not targets:
        return [file for skill in listing(roots) for file in workflows(skill)]
    return [
        file
        for target in targets
        for path in _skills_in(target, cwd)
        if path == target or not _is_without_workflow(os.path.join(cwd, path))
        for file in _named(path, roots, cwd)
    ]


def _skills_in(target: str, cwd: str) -> list[str]:
    """Return *target*, or the skills in it if it is a folder of skills."""
    path = os.path.join(cwd, target)
    if not os.path.isdir(path) or _is_skill(path):
        return [target]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        fact = f"`{target}` cannot be read ({error.strerror})"
        raise UsageError(fact, hint="make it readable for this user") from None
    return [os.path.join(target, name) for name in names if _is_skill(os.path.join(path, name))] or [target]


def _with_unread_workflow(roots: Sequence[Root]) -> list[str]:
    """Return the folders of skills that have no workflow except one with a name that is not read."""
    folders: list[str] = []
    for root in roots:
        with suppress(OSError):
            folders += [os.path.join(root.path, name) for name in sorted(os.listdir(root.path))]
    return [folder for folder in folders if card_checks.unread_workflows(folder) and not _at(folder)]


def _is_skill(path: str) -> bool:
    """Whether *path* is a folder with a SKILL.md or a workflow."""
    return os.path.isdir(path) and (bool(_at(path)) or _is_without_workflow(path))


def _is_without_workflow(path: str) -> bool:
    """Whether *path* is the folder of a skill that has no workflow, or one with a name that is not read."""
    has_card = os.path.lexists(os.path.join(path, card_checks.CARD))
    return (has_card or bool(card_checks.unread_workflows(path))) and not _at(path)


def _at(path: str) -> list[WorkflowFile]:
    """Return the workflows in the folder of a skill."""
    folder = os.path.normpath(path)
    return list(workflows(Skill(os.path.basename(folder), folder, "path")))


def _named(target: str, roots: Sequence[Root], cwd: str) -> Sequence[WorkflowFile]:
    path = os.path.normpath(os.path.join(cwd, target))
    if os.path.isfile(path):
        return [_file(path)]
    if os.path.isdir(path):
        if inside := _at(path):
            return inside
        hint = "name a skill's folder, or a folder of such folders"
        raise UsageError(f"`{target}` contains no workflow", hint=hint)
    if os.path.isabs(target) or target.startswith((".", "~")):
        raise UsageError(f"`{target}` does not exist", hint="name a skill, a folder or a file")
    skill = find(target, roots)
    return [workflow_file(target, skill)] if "/" in target else list(workflows(skill))


def _file(path: str) -> WorkflowFile:
    folder, name = os.path.split(path)
    if os.path.basename(folder) == "workflows" and name.endswith(".yaml"):
        top, stem = os.path.dirname(folder), name.removesuffix(".yaml")
        return WorkflowFile(f"{os.path.basename(top)}/{stem}", top, f"workflows/{name}", f"steps/{stem}")
    if name.endswith((".yaml", ".yml", ".py")):
        return WorkflowFile(os.path.basename(folder), folder, name, "steps")
    raise UsageError(
        f"`{path}` is not a workflow", hint="name a workflow.yaml, a workflow.py or a skill's folder"
    )


def _checked(
    file: WorkflowFile,
    roots: Sequence[Root],
    interfaces: WorkflowInterfaces,
    read: workflow_source.ReadFile,
) -> CheckReport:
    try:
        loaded = read(file)
        interfaces.add(file, loaded)
        referring = references.findings(file, loaded, roots, interfaces, fence_problems)
        of_workflow = in_order((*loaded.findings, *_advice(loaded), *referring))
        of_card = card_checks.findings(file, loaded, interfaces, steps_table)
        findings = tuple(without_suppressed((*of_workflow, *of_card), loaded.suppressions))
    except DocumentError as error:
        inside = error.place.removeprefix(os.path.join(file.folder, ""))  # the report names the folder
        place = Place.of(inside)
        findings = (Finding("FR100", "error", error.fact, str(error.hint), place),)
    return CheckReport(file.address, file.folder, findings)


def _advice(loaded: LoadedWorkflow) -> list[Finding]:
    """Return the warnings about a workflow that has no errors."""
    if loaded.is_computed or any(finding.severity == "error" for finding in loaded.findings):
        return []
    return advise(loaded.definition, loaded.locate)
