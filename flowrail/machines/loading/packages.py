"""The workflows of a Python package by name: listed without importing, imported when used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from flowrail.errors import DocumentError, FlowError, UsageError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading.python_source import UNREADABLE, why_not, workflow_name
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean

_registered: dict[str, Workflow] = {}


class BrokenModuleError(FlowError):
    """A module with a workflow could not be imported, or contains another workflow than expected."""

    code = "BROKEN_MODULE"


class WorkflowPlace(NamedTuple):
    """Where a workflow is defined: the module to import, and its file."""

    module: str
    path: str


class Workflows(Mapping[str, Workflow]):
    """Workflows by name. Listing names imports nothing; getting one imports only its module.

    ``skipped`` has the files that look like a workflow but cannot be read, with the reason.
    """

    def __init__(self, places: Mapping[str, WorkflowPlace], skipped: Mapping[str, str]) -> None:
        self._places = dict(places)
        self.skipped = dict(skipped)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._places, *_registered]))

    def __len__(self) -> int:
        return len(self._places.keys() | _registered.keys())

    def __getitem__(self, name: str) -> Workflow:
        place = self._places.get(name)
        if place is None:
            return _registered[name]
        return _imported(name, place)

    def __repr__(self) -> str:
        return f"Workflows({', '.join(self)})"

    def place(self, name: str) -> WorkflowPlace:
        """Return where a workflow is defined, without importing it."""
        return self._places[name]


def discover_workflows(package: str) -> Workflows:
    """Return the workflows that modules of *package* define as ``WORKFLOW``.

    *package* is the name of a package that can be imported. For a dotted name, only its parents are imported.
    """
    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"there is no package `{package}`", hint="name one that Python can import")
    places: dict[str, WorkflowPlace] = {}
    skipped: dict[str, str] = {}
    for folder in spec.submodule_search_locations:
        for module, path in _modules(package, folder):
            _look_into(module, path, places, skipped)
    return Workflows(places, skipped)


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


def registered(name: str) -> Workflow:
    """Return a workflow that was registered in this process."""
    if name not in _registered:
        raise UsageError(
            f"no workflow `{name}` is registered", hint=did_you_mean(name, _registered, "register it")
        )
    return _registered[name]


def _modules(package: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the modules below *folder*; hyphens in names of folders are allowed, as in names of skills."""
    for path in sorted(Path(folder).rglob("*.py")):
        folders = path.relative_to(folder).parts[:-1]
        if all(part.replace("-", "_").isidentifier() and part != "__pycache__" for part in folders):
            own = () if path.stem == "__init__" else (path.stem,)
            yield ".".join((package, *folders, *own)), str(path)


def _look_into(module: str, path: str, places: dict[str, WorkflowPlace], skipped: dict[str, str]) -> None:
    try:
        data = read_bounded(path, limit=limits.PYTHON_BYTES, what="the module")
        name = workflow_name(data, module) if b"WORKFLOW" in data else None
    except DocumentError as error:
        skipped[path] = error.fact
    except UNREADABLE as error:
        skipped[path] = why_not(error)[0]
    else:
        if name in places:
            skipped[path] = f"defines `{name}`, which {places[name].path} defines already"
        elif name is not None:
            places[name] = WorkflowPlace(module, path)


def _imported(name: str, place: WorkflowPlace) -> Workflow:
    try:
        workflow = getattr(import_module(place.module), "WORKFLOW", None)
    except FlowError:
        raise
    except (Exception, SystemExit) as error:
        raise BrokenModuleError(
            f"{place.path} raised {type(error).__name__}: {' '.join(str(error).split())[:200]}",
            hint="fix the module; others are not affected",
            path=place.path,
        ) from error
    if not isinstance(workflow, Workflow) or workflow.name != name:
        actual = f"`{workflow.name}`" if isinstance(workflow, Workflow) else "something else"
        raise BrokenModuleError(
            f"`WORKFLOW` of {place.path} is {actual}, not the workflow `{name}`",
            hint="write the name as a plain text, so that it can be read without importing",
            path=place.path,
        )
    return workflow
