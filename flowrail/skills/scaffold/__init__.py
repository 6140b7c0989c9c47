"""Create a skill from the templates in `files/`: a workflow for its author to change.

A new skill passes `flow check` and `flow test`. In the templates, ``SKILL`` is replaced by the name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files

from flowrail.errors import ConflictError, UsageError
from flowrail.machines.step import LONGEST_NAME, WORKFLOW_NAME
from flowrail.storage.files import make_dir, write_atomic

_STEPS = ("plan", "work", "summarize")


def make(name: str, folder: str, *, python: bool = False) -> tuple[str, ...]:
    """Write a new skill called *name* into the new *folder*, and return the paths of its files.

    With *python* the workflow is a Python file, otherwise YAML and one text per step.
    """
    if not WORKFLOW_NAME.match(name) or "/" in name or len(name) > LONGEST_NAME:
        raise UsageError(
            f"a skill cannot be called `{name[:80]}`",
            code="NOT_A_NAME",
            hint=f"use lower-case letters, digits and single hyphens, at most {LONGEST_NAME}",
            name=name[:80],
        )
    if os.path.lexists(folder):
        raise ConflictError(f"{folder} already exists", code="EXISTS", hint="use another name", path=folder)
    written = _contents(name, python=python)
    for path, text in written.items():
        make_dir(os.path.dirname(os.path.join(folder, path)))
        write_atomic(os.path.join(folder, path), text.encode(), mode=0o644, durable=False)
    return tuple(written)


def _contents(name: str, *, python: bool) -> Mapping[str, str]:
    """Return the files of a new skill by path."""
    texts = {f"steps/{step}.md": _template(f"steps/{step}.md") for step in _STEPS}
    written = {"workflow.yaml": _template("workflow.yaml"), **texts}
    if python:
        workflow = _template("workflow.py.txt")
        for step in _STEPS:
            workflow = workflow.replace(f"{step.upper()}_TEXT", texts[f"steps/{step}.md"])
        written = {"workflow.py": workflow}
    written["SKILL.md"] = _template("SKILL.md")
    return {path: text.replace("SKILL", name) for path, text in written.items()}


def _template(path: str) -> str:
    return files(__name__).joinpath("files", path).read_text("utf-8")
