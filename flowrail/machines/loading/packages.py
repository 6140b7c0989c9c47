"""The workflows of a Python package by name: listed without importing, imported when used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from flowrail.errors import DocumentError, FlowError, UsageError
from flowrail.machines.loading.python_file import scan
from flowrail.machines.loading.skill_folder import ENTRY_FILES
from flowrail.machines.outcome_decision import SCRIPTS
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import read_bounded
from flowrail.text import size_limits

_registered: dict[str, Workflow] = {}


class Workflows(Mapping[str, Workflow]):
    """Workflows by name. Listing names imports nothing; getting one imports only its module.

    ``skipped`` has the files whose ``WORKFLOW`` is not one of the workflows, each with the reason.
    """

    def __init__(self) -> None:
        self.skipped: dict[str, str] = {}
        self._places: dict[str, tuple[str, str]] = {}
        """The module and the file of each workflow."""
        self._entries: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._places, *_registered]))

    def __len__(self) -> int:
        return len(self._places.keys() | _registered.keys())

    def __getitem__(self, name: str) -> Workflow:
        return _imported(name, *self._places[name]) if name in self._places else _registered[name]

    def __repr__(self) -> str:
        return f"Workflows({', '.join(self)})"

    def add(self, module: str, path: str) -> None:
        """Add the workflow of a module, if it has one."""
        try:
            scanned = scan(read_bounded(path, limit=size_limits.PYTHON_BYTES, what="the module"))
        except DocumentError as error:
            self.skipped[path] = error.fact
            return
        if scanned is None:
            return
        name, skill = scanned.name, _skill_folder(path)
        entry = self._entries.get(skill)
        if scanned.problem:
            self.skipped[path] = scanned.problem
        elif name in self._places:
            self.skipped[path] = f"defines `{name}`, which {self._places[name][1]} defines already"
        elif skill and entry and "/" not in name:
            problem = f"defines a second entry workflow in addition to `{entry}`; name it `{entry}/{name}`"
            self.skipped[path] = problem
        else:
            self._places[name] = module, path
            if "/" not in name:
                self._entries[skill] = name


def discover_workflows(package: str) -> Workflows:
    """Return the workflows that modules of *package* define as ``WORKFLOW``.

    *package* is the name of a package that can be imported. For a dotted name, only its parents are imported. A module
    whose ``WORKFLOW`` cannot be a workflow, and a second entry workflow of a skill, are in ``skipped``.
    """
    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"there is no package `{package}`", hint="name one that Python can import")
    workflows = Workflows()
    for folder in spec.submodule_search_locations:
        for module, path in _modules(package, folder):
            workflows.add(module, path)
    return workflows


def register_workflow(workflow: Workflow) -> Workflow:
    """Register *workflow* by its name in this process, and return it.

    Discovered workflows need no registration. Registering the same workflow again is fine; another of the same
    name is refused.
    """
    known = _registered.setdefault(workflow.name, workflow)
    if known is not workflow and known != workflow:
        raise UsageError(
            f"another workflow `{workflow.name}` is registered", hint="give one of them another name"
        )
    return workflow


def _modules(package: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the modules below *folder*; hyphens in names of folders are allowed, as in names of skills."""
    for path in sorted(Path(folder).rglob("*.py")):
        folders = path.relative_to(folder).parts[:-1]
        if all(part.replace("-", "_").isidentifier() and part != "__pycache__" for part in folders):
            own = () if path.stem == "__init__" else (path.stem,)
            yield ".".join((package, *folders, *own)), str(path)


def _skill_folder(path: str) -> str:
    """Return the folder of the skill that a module belongs to; empty if it is a module of the package itself."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) == SCRIPTS:
        return os.path.dirname(folder)
    return folder if name in ENTRY_FILES or os.path.lexists(os.path.join(folder, "SKILL.md")) else ""


def _imported(name: str, module: str, path: str) -> Workflow:
    try:
        workflow = getattr(import_module(module), "WORKFLOW", None)
    except FlowError:
        raise
    except (Exception, SystemExit) as error:
        raise FlowError(
            f"{path} raised {type(error).__name__}: {' '.join(str(error).split())[:200]}",
            code="BROKEN_MODULE",
            hint="fix the module; others are not affected",
            path=path,
        ) from error
    if not isinstance(workflow, Workflow) or workflow.name != name:
        actual = f"`{workflow.name}`" if isinstance(workflow, Workflow) else "something else"
        raise FlowError(
            f"`WORKFLOW` of {path} is {actual}, not the workflow `{name}`",
            code="BROKEN_MODULE",
            hint="assign the workflow once, with its name as a text",
            path=path,
        )
    return workflow
