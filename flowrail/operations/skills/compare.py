"""What a change did to the graph: two readings of one workflow, told step by step."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from flowrail.errors import DocumentError
from flowrail.machines.definition.fingerprint import step_print
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.values import Arg, arg_to_plain
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import skill_folder
from flowrail.machines.loading.skill_folder import WorkflowFile

_WORKFLOW = re.compile(r"([a-z0-9-]+)/(?:workflow\.(?:yaml|py)|workflows/([a-z0-9-]+)\.yaml)")


class Change(NamedTuple):
    """One difference; ``stops`` says that sessions which stand at the step cannot go on by themselves."""

    workflow: str
    step: str | None
    what: str
    stops: bool = False


class Past(Protocol):
    """Knows what a folder held."""

    def files(self, folder: str) -> dict[str, bytes]:
        """Return the files of *folder* as they were."""

    def paths(self, folder: str) -> list[str]:
        """Return the paths in *folder* of all that it held."""


def compare(files: Sequence[WorkflowFile], past: Past, above: Sequence[str] = ()) -> list[Change]:
    """Return what is different now in each workflow of *files*, and what is gone; nothing of either is run.

    *above* are folders of skills, for those of which nothing is left.
    """
    changes: list[Change] = []
    folders: dict[str, dict[str, bytes]] = {}
    for file in files:
        if file.folder not in folders:
            folders[file.folder] = past.files(file.folder)
        before = _read(file, folders[file.folder])
        after = _read(file, None)
        if before is None or after is None:
            gone = "is new" if before is None else "cannot be read now"
            changes.append(Change(file.address, None, f"the workflow {gone}"))
        else:
            changes += between(before, after)
    lost = [address for place in above for address in _gone(place, past.paths(place))]
    for skill in dict.fromkeys(file.folder for file in files if "/" not in file.address):
        if os.path.dirname(skill) not in above:
            name = os.path.basename(skill)
            lost += _gone(os.path.dirname(skill), [f"{name}/{path}" for path in folders[skill]])
    return [*changes, *(Change(each, None, "the workflow is gone", stops=True) for each in lost)]


def _gone(above: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the address of each workflow among *paths* in a folder of skills that stands there no more."""
    for path in sorted(paths):
        found = _WORKFLOW.fullmatch(path)
        if found is None:
            continue
        name, inner = found.groups()
        left = (f"{name}/workflow.yaml", f"{name}/workflow.py") if inner is None else (path,)
        if not any(os.path.lexists(os.path.join(above, each)) for each in left):
            yield name if inner is None else f"{name}/{inner}"


def between(before: Workflow, after: Workflow) -> Iterator[Change]:
    """Yield what is different in *after*."""
    name = after.name
    if before.entry_point != after.entry_point:
        yield Change(name, None, f"starts at `{after.entry_point}`, before at `{before.entry_point}`")
    yield from (Change(name, None, what) for what in _values("parameter", before.params, after.params))
    for step in before.steps:
        if step.id not in after:
            yield Change(name, step.id, "is gone", stops=True)
    for step in after.steps:
        was = before.get(step.id)
        if was is None:
            yield Change(name, step.id, "is new")
        elif after.step(step.id) is step:
            stops = step_print(before, step.id) != step_print(after, step.id)
            yield from (Change(name, step.id, what, stops) for what in _step(was, step))


def _step(was: StepDef, now: StepDef) -> Iterator[str]:
    for outcome in dict.fromkeys([*was.next, *now.next]):
        if outcome not in now.next:
            yield f"`{outcome}` led to {_name(was.next[outcome])} and is gone"
        elif outcome not in was.next:
            yield f"`{outcome}` is new and leads to {_name(now.next[outcome])}"
        elif was.next[outcome] != now.next[outcome]:
            yield f"`{outcome}` leads to {_name(now.next[outcome])}, before to {_name(was.next[outcome])}"
    for what in ("limit", "when", "rules", "questions", "gate", "dispatch", "forbids", "title", "phase"):
        old, new = getattr(was, what), getattr(now, what)
        if not (callable(old) and callable(new)) and old != new:
            yield _told(what, old, new)
    yield from _values("fact", was.reports, now.reports)
    told = [(step.actions, step.variants) for step in (was, now)]
    if not any(callable(actions) for actions, _ in told) and told[0] != told[1]:
        yield "its text changed"


def _told(what: str, old: object, new: object) -> str:
    if what in {"limit", "when", "title", "phase"}:
        return f"`{what}` is {_said(new)}, before {_said(old)}"
    state = "is new" if not old else "is gone" if not new else "changed"
    return f"`{what}` {state}"


def _values(kind: str, was: Mapping[str, Arg], now: Mapping[str, Arg]) -> Iterator[str]:
    for name in dict.fromkeys([*was, *now]):
        if name not in now:
            yield f"{kind} `{name}` is gone"
        elif name not in was:
            yield f"{kind} `{name}` is new{', required' if now[name].required else ''}"
        elif arg_to_plain(was[name]) != arg_to_plain(now[name]):
            yield f"{kind} `{name}` is declared in another way"


def _read(file: WorkflowFile, contents: Mapping[str, bytes] | None) -> Workflow | None:
    try:
        return skill_folder.read(file, contents).definition
    except (DocumentError, KeyError):
        return None


def _name(target: str | None) -> str:
    return f"`{target}`" if target is not None else "the end"


def _said(value: Any) -> str:
    return "not set" if value is None or value == "" else f"`{value}`"
