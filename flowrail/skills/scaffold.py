"""A new skill's folder: a small procedure that is in order from the start, for an author to change.

What is written passes `flow check`, and the test that lies in it walks every way on to an end.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from flowrail.errors import ConflictError, StorageError, UsageError
from flowrail.machines.definition.step import LONGEST_NAME, WORKFLOW_NAME
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.skills import scaffold_templates
from flowrail.skills.catalog import bundled_folder
from flowrail.storage.files import write_atomic


class NotANameError(UsageError):
    """A skill cannot be called that."""

    code = "NOT_A_NAME"


class ExistsError(ConflictError):
    """Something of that name is there already."""

    code = "EXISTS"


class Made(NamedTuple):
    """A new skill: its folder, its files, and whether it has the name of a bundled one."""

    skill: str
    folder: str
    files: tuple[str, ...]
    hides_bundled: bool


def make(name: str, root: str, *, python: bool = False) -> Made:
    """Write a new skill called *name* into the folder *root*; refuse where anything of that name is.

    With *python* the workflow is a Python file, else YAML and a text for each step.
    """
    if not WORKFLOW_NAME.match(name) or "/" in name or len(name) > LONGEST_NAME:
        raise NotANameError(
            f"`{name[:80]}` is no name for a skill",
            hint=f"use lower-case letters, digits and single hyphens, at most {LONGEST_NAME}",
            name=name[:80],
        )
    folder = os.path.join(root, name)
    if os.path.lexists(folder):
        raise ExistsError(
            f"{folder} is there already", hint="take another name, or another --dir", path=folder
        )
    files = contents(name, python=python)
    for path, text in files.items():
        _write(os.path.join(folder, path), text)
    hides = entry_file(os.path.join(bundled_folder(), name), name) is not None
    return Made(name, folder, tuple(files), hides)


def contents(name: str, *, python: bool) -> Mapping[str, str]:
    """Return what a new skill's files hold, by their paths."""
    chosen = scaffold_templates.PYTHON if python else scaffold_templates.YAML
    test = f"tests/test_{name.replace('-', '_')}.py"
    files = {**chosen, **scaffold_templates.COMMON}
    return {path.replace("TEST", test): text.replace("SKILL", name) for path, text in files.items()}


def _write(path: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        in_the_way = isinstance(error, NotADirectoryError)
        raise StorageError(
            f"{os.path.dirname(path)} could not be made ({error.strerror})",
            hint="a file stands in the way: take another --dir" if in_the_way else "make that place writable",
            path=path,
        ) from None
    write_atomic(path, text.encode(), mode=0o644, durable=False)
