"""Check workflows that a user names by skill or path.

Workflows are read as text, and nothing in them runs, unless the caller reads them otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from flowrail.diagrams.renderers.markdown import steps_table
from flowrail.discovery.locations import Root
from flowrail.errors import DocumentError, UsageError
from flowrail.machines.checks.check import advise
from flowrail.machines.definition.findings import Finding, Place, without_suppressed
from flowrail.machines.definition.validation import origin_of
from flowrail.machines.loading import skill_folder, workflow_source
from flowrail.skills import card_checks, references
from flowrail.skills.catalog import Skill, find, listing, workflow_file, workflows
from flowrail.skills.references import Problems, WorkflowInterfaces

CheckProgress = Callable[[str, int, int], None]
"""Takes the address of a workflow, how many were checked before it, and how many there are."""


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
    problems: Problems | None = None,
    read: workflow_source.ReadFile = workflow_source.read,
    progress: CheckProgress = lambda _address, _done, _total: None,
) -> list[CheckReport]:
    """Return a report on every workflow that *targets* name, or on all installed ones.

    *problems* returns the problems of the fences in a text; without it, fences are not checked. *progress* is called
    before each workflow.
    """
    interfaces = WorkflowInterfaces()
    targets = [path for target in targets for path in _skills_in(target, cwd)]
    bare = [target for target in targets if _is_card_only(os.path.join(cwd, target))]
    others = [target for target in targets if target not in bare]
    workflow_files = files(others, roots, cwd) if others or not bare else []
    reports: list[CheckReport] = []
    for number, file in enumerate(workflow_files):
        progress(file.address, number, len(workflow_files))
        reports.append(_checked(file, roots, problems, interfaces, read))
    for target in bare:
        path = os.path.normpath(os.path.join(cwd, target))
        reports.append(
            CheckReport(os.path.basename(path), path, tuple(card_checks.of_card(path)), is_workflow=False)
        )
    return reports


def files(targets: Sequence[str], roots: Sequence[Root], cwd: str) -> list[skill_folder.WorkflowFile]:
    """Return every workflow that *targets* name, by skill or by path; without targets, all installed ones."""
    if targets:
        return list(_named(targets, roots, cwd))
    return [file for each in listing(roots) for file in workflows(each)]


def _skills_in(target: str, cwd: str) -> Iterator[str]:
    """Yield *target*, or the skills in it if it is a folder of skills."""
    path = os.path.join(cwd, target)
    inside: list[str] = []
    if os.path.isdir(path) and not _is_skill(path):
        inside = [name for name in _names(path, target) if _is_skill(os.path.join(path, name))]
    yield from (os.path.join(target, name) for name in inside) if inside else (target,)


def _is_skill(path: str) -> bool:
    """Whether *path* is a folder with a SKILL.md or a workflow."""
    has_card = os.path.lexists(os.path.join(path, card_checks.CARD))
    return os.path.isdir(path) and (has_card or next(iter(workflows(_at(path))), None) is not None)


def _is_card_only(path: str) -> bool:
    """Whether *path* is the folder of a skill that has no workflow."""
    inside = workflows(_at(path))
    meant = os.path.lexists(os.path.join(path, "workflow.yml"))
    return os.path.lexists(os.path.join(path, card_checks.CARD)) and not meant and next(inside, None) is None


def _named(targets: Sequence[str], roots: Sequence[Root], cwd: str) -> Iterator[skill_folder.WorkflowFile]:
    for target in targets:
        path = os.path.join(cwd, target)
        if os.path.isdir(path):
            yield from _in_folder(path, target)
        elif os.path.isfile(path):
            yield _file(path)
        else:
            if os.path.isabs(target) or target.startswith((".", "~")):
                raise UsageError(f"`{target}` does not exist", hint="name a skill, a folder or a file")
            found = find(target, roots)
            yield from workflows(found) if "/" not in target else (workflow_file(target, found),)


def _in_folder(path: str, target: str) -> Iterator[skill_folder.WorkflowFile]:
    real = os.path.normpath(path)
    files = list(workflows(_at(real)))
    if not files:
        inside = [os.path.join(real, name) for name in _names(real, target)]
        files = [file for each in inside if os.path.isdir(each) for file in workflows(_at(each))]
    if not files:
        hint = "name a skill's folder, or a folder of such folders"
        if os.path.lexists(os.path.join(real, "workflow.yml")):
            hint = "name the file `workflow.yaml`"
        raise UsageError(f"`{target}` contains no workflow", hint=hint)
    yield from files


def _names(path: str, target: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        fact = f"`{target}` cannot be read ({error.strerror})"
        raise UsageError(fact, hint="make it readable for this user") from None


def _at(path: str) -> Skill:
    return Skill(os.path.basename(path), path, "path")


def _file(path: str) -> skill_folder.WorkflowFile:
    real = os.path.normpath(path)
    above, name = os.path.split(real)
    if os.path.basename(above) == "workflows" and name.endswith(".yaml"):
        top = os.path.dirname(above)
        stem = name.removesuffix(".yaml")
        return skill_folder.WorkflowFile(
            f"{os.path.basename(top)}/{stem}", top, f"workflows/{name}", f"steps/{stem}"
        )
    if name.endswith((".yaml", ".yml", ".py")):
        return skill_folder.WorkflowFile(os.path.basename(above), above, name, "steps")
    raise UsageError(
        f"`{path}` is not a workflow", hint="name a workflow.yaml, a workflow.py or a skill's folder"
    )


def _checked(
    file: skill_folder.WorkflowFile,
    roots: Sequence[Root],
    problems: Problems | None,
    interfaces: WorkflowInterfaces,
    read: workflow_source.ReadFile,
) -> CheckReport:
    try:
        loaded = read(file)
        interfaces.add(file, loaded)
        beside = (
            *references.findings(file, loaded, roots, interfaces, problems),
            *card_checks.findings(file, loaded, interfaces, steps_table),
        )
        findings = tuple(
            without_suppressed((*loaded.findings, *_advice(loaded), *beside), loaded.suppressions)
        )
    except DocumentError as error:
        inside = error.place.removeprefix(os.path.join(file.folder, ""))  # the report names the folder
        place = Place.of(inside)
        findings = (Finding("FR100", "error", error.fact, str(error.hint), place),)
    return CheckReport(file.address, file.folder, findings)


def _advice(loaded: workflow_source.LoadedWorkflow) -> list[Finding]:
    """Return the warnings about a workflow that has no errors."""
    if loaded.is_computed or any(finding.severity == "error" for finding in loaded.findings):
        return []
    return advise(loaded.definition, loaded.locate or origin_of(loaded.definition))
