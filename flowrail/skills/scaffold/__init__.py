"""Create a skill from the templates in `files/`, or from the text of a skill: a workflow for its author to change.

A new skill passes `flow check`, `flow test` and its own test. In the templates, ``SKILL`` is replaced by the name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from flowrail.discovery.locations import bundled_folder
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.definition.step import LONGEST_NAME, WORKFLOW_NAME
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.skills.scaffold import draft
from flowrail.skills.scaffold.draft import DraftFinding
from flowrail.storage.files import make_dir, write_atomic

_STEPS = ("plan", "work", "summarize")


class NotANameError(UsageError):
    """A skill cannot have this name."""

    code = "NOT_A_NAME"


class ExistsError(ConflictError):
    """A file or folder with this name already exists."""

    code = "EXISTS"


class NewSkill(NamedTuple):
    """A new skill: its folder, its files, whether it has the name of a bundled one, and the findings of a draft."""

    skill: str
    folder: str
    files: tuple[str, ...]
    hides_bundled: bool
    findings: tuple[DraftFinding, ...] = ()


def make(name: str, root: str, *, python: bool = False, source: str | None = None) -> NewSkill:
    """Write a new skill called *name* into the folder *root*; refuse if anything of that name exists.

    With *python* the workflow is a Python file, otherwise YAML and one text per step. With *source*, the path of a
    skill text, it is a draft: one step for each heading.
    """
    if not WORKFLOW_NAME.match(name) or "/" in name or len(name) > LONGEST_NAME:
        raise NotANameError(
            f"a skill cannot be called `{name[:80]}`",
            hint=f"use lower-case letters, digits and single hyphens, at most {LONGEST_NAME}",
            name=name[:80],
        )
    folder = os.path.join(root, name)
    if os.path.lexists(folder):
        hint = "use another name or another --dir"
        if source is not None and os.path.realpath(source).startswith(os.path.realpath(folder) + os.sep):
            hint = "move this folder away first, with the text in it, or use another name"
        raise ExistsError(f"{folder} already exists", hint=hint, path=folder)
    read = draft.read(source) if source is not None else None
    written = draft.contents(name, read) if read else _contents(name, python=python)
    for path, text in written.items():
        make_dir(os.path.dirname(os.path.join(folder, path)))
        write_atomic(os.path.join(folder, path), text.encode(), mode=0o644, durable=False)
    hides_bundled = entry_file(os.path.join(bundled_folder(), name), name) is not None
    return NewSkill(name, folder, tuple(written), hides_bundled, read.findings if read else ())


def _contents(name: str, *, python: bool) -> Mapping[str, str]:
    """Return the files of a new skill by path."""
    texts = {step: _template(f"steps/{step}.md") for step in _STEPS}
    if python:
        workflow = _template("workflow.py.txt")
        for step, text in texts.items():
            workflow = workflow.replace(f"{step.upper()}_TEXT", text)
        written = {"workflow.py": workflow}
    else:
        written = {
            "workflow.yaml": _template("workflow.yaml"),
            **{f"steps/{step}.md": text for step, text in texts.items()},
        }
    written["SKILL.md"] = _template("SKILL.md")
    written[f"tests/test_{name.replace('-', '_')}.py"] = _template("test.py.txt")
    return {path: text.replace("SKILL", name) for path, text in written.items()}


def _template(path: str) -> str:
    return files(__name__).joinpath("files", path).read_text("utf-8")
