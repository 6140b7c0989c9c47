"""The workflows that a person names, by skill or by path, each with everything found in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flowrail.discovery.locations import Root
from flowrail.errors import DocumentError, UsageError
from flowrail.machines.definition.findings import Finding
from flowrail.machines.definition.suppressions import applied
from flowrail.machines.loading import skill_folder
from flowrail.skills import card_checks, references
from flowrail.skills.beside import Shelf
from flowrail.skills.catalog import OWN_SCOPES, Found, find, listing, workflow_file, workflows
from flowrail.skills.references import Problems


class Checked(NamedTuple):
    """One workflow, the folder it stands in, and what was found."""

    address: str
    path: str
    findings: tuple[Finding, ...]
    is_workflow: bool = True
    """Whether it is one: of a skill without any, its card is checked."""


def check(
    targets: Sequence[str], roots: Sequence[Root], cwd: str, *, problems: Problems | None = None
) -> list[Checked]:
    """Return a report on every workflow that *targets* name, or on all in sight.

    *problems* tells what is wrong with the fences of a text; without it they are not looked at.
    """
    shelf = Shelf()
    bare = [target for target in targets if _is_card_only(os.path.join(cwd, target))]
    others = [target for target in targets if target not in bare]
    reports = (
        [_checked(file, roots, problems, shelf) for file in files(others, roots, cwd)]
        if others or not bare
        else []
    )
    for target in bare:
        path = os.path.normpath(os.path.join(cwd, target))
        reports.append(
            Checked(os.path.basename(path), path, tuple(card_checks.of_card(path)), is_workflow=False)
        )
    return reports


def files(targets: Sequence[str], roots: Sequence[Root], cwd: str) -> list[skill_folder.WorkflowFile]:
    """Return every workflow that *targets* name, by skill or by path; without any, all in sight."""
    if targets:
        return list(_named(targets, roots, cwd))
    return [file for each in listing(roots) for file in workflows(each)]


def compared(
    targets: Sequence[str], roots: Sequence[Root], cwd: str
) -> tuple[list[skill_folder.WorkflowFile], list[str]]:
    """Return the workflows that are held against what they were, and folders in which some may be gone.

    Without *targets* they are those of the project: what is installed has no history there.
    """
    if targets:
        paths = [os.path.normpath(os.path.join(cwd, target)) for target in targets]
        above = [path for path in paths if os.path.isdir(path) and not list(workflows(_at(path)))]
        return files(targets, roots, cwd), above
    own = [each for each in listing(roots) if each.source not in OWN_SCOPES]
    above = [root.path for root in roots if root.scope.value not in OWN_SCOPES and os.path.isdir(root.path)]
    return [file for each in own for file in workflows(each)], above


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
                raise UsageError(f"there is nothing at `{target}`", hint="name a skill, a folder or a file")
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
        raise UsageError(f"`{target}` holds no workflow", hint=hint)
    yield from files


def _names(path: str, target: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        fact = f"`{target}` cannot be looked into ({error.strerror})"
        raise UsageError(fact, hint="make it readable for this user") from None


def _at(path: str) -> Found:
    return Found(os.path.basename(path), path, "path")


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
        f"`{path}` is no workflow", hint="name a workflow.yaml, a workflow.py or a skill's folder"
    )


def _checked(
    file: skill_folder.WorkflowFile, roots: Sequence[Root], problems: Problems | None, shelf: Shelf
) -> Checked:
    try:
        loaded = skill_folder.read(file)
        shelf.put(file, loaded)
        beside = (
            *references.findings(file, loaded, roots, shelf, problems),
            *card_checks.findings(file, loaded, shelf),
        )
        findings = tuple(applied((*loaded.findings, *loaded.advice(), *beside), loaded.exceptions))
    except DocumentError as error:
        place = error.place.removeprefix(
            os.path.join(file.folder, "")
        )  # the folder is told by whoever shows it
        findings = (Finding("FR100", "error", error.fact, error.hint, place),)
    return Checked(file.address, file.folder, findings)
