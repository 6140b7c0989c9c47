"""The parts of a workflow, found through the fields of its classes, each with its path and its name in findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from flowrail.machines.findings import Path, name_of
from flowrail.machines.frozen import Definition
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow


@dataclass(frozen=True)
class Part:
    """A part of a workflow."""

    kind: object
    """Its class, or for other values a word: text, condition, transition, demand or function."""
    path: Path
    """Where it is in the workflow; in a step without a workflow, where it is in the step."""
    value: Any
    step: Any = None

    @property
    def inside(self) -> Path:
        """Where it is in its step."""
        return self.path[2:] if self.path[:1] == ("steps",) else self.path

    @property
    def key(self) -> str:
        """The key of the step, or of its dispatch, that holds it."""
        in_work = self.inside[0] in {"dispatch", "handler"}
        return str(self.inside[1 if in_work else 0])

    @property
    def name(self) -> str:
        """The last word of its path."""
        return str(self.path[-1])

    @property
    def full(self) -> str:
        """What findings call it."""
        return name_of(self.inside, self.step and self.step.id)

    @property
    def names(self) -> frozenset[str]:
        """For a text: the names that it may use besides parameters and facts."""
        if self.key not in {"vars", "prompt"}:
            return frozenset()
        work = self.step.work
        item = frozenset({"item"} if work.over is not None else ())
        return item.union(work.vars) if self.key == "prompt" else item


def parts_of(
    value: object, path: Path = (), kind: object = None, step: StepDef | None = None
) -> Iterator[Part]:
    """Yield every part of a workflow or a step, itself first. Fields that have their default have no parts."""
    if isinstance(value, Definition):
        step = value if isinstance(value, StepDef) else step
        yield Part(type(value), path, value, step)
        for field in fields(value):
            inner = getattr(value, field.name)
            if inner is not field.default:
                key = field.metadata.get("alias", field.name)
                yield from parts_of(inner, (*path, key), field.metadata.get("kind"), step)
        return
    if callable(value):
        yield Part("function", path, value, step)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from parts_of(item, (*path, str(key)), kind, step)
    elif kind is not None and (kind == "demand" or not isinstance(value, tuple)):
        yield Part(kind, path, value, step)
    for number, item in enumerate(value if isinstance(value, tuple) else ()):
        yield from parts_of(item, (*path, number), None if kind == "demand" else kind, step)


def texts_of(step: StepDef, path: Path = ()) -> list[Part]:
    """Return every text of *step* that is not a function."""
    return [part for part in parts_of(step, path) if part.kind == "text" and isinstance(part.value, str)]


def has_functions(workflow: Workflow) -> bool:
    """Return whether *workflow* contains functions, which plain data cannot hold."""
    return any(part.kind == "function" for part in parts_of(workflow))
