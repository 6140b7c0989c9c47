"""A workflow as plain data and back: what files contain and what a session stores.

Functions cannot be stored. Where one decides, the step is marked with `code`; `from_plain` puts a function there
that refuses to be called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from inspect import Parameter
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from flowrail.errors import FlowError
from flowrail.machines.definition.frozen import freeze
from flowrail.machines.definition.keys import DeclaredKey, Shape, is_default, keys_of
from flowrail.machines.definition.step import StepContext, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.markup import Markup
from flowrail.text.safe_text import in_quotes

LARGEST_CACHED = 1_000_000
"""A definition with more characters as JSON is not kept in memory."""
MOST_PROBLEMS = 5_000
_CODE = "code"
_DECIDING = ("handler", "when")

Path = tuple[str | int, ...]


class CodeNotStoredError(FlowError):
    """Code would have to run that is not stored."""

    code = "CODE_NOT_KEPT"


class DocumentProblem(NamedTuple):
    """A value of the wrong shape: where it is, what is wrong, and what to write instead."""

    path: Path
    what: str
    remedy: str = ""
    known: tuple[str, ...] = ()
    """If the key is unknown: the keys that could have been meant."""


def to_plain(part: object, *, sparse: bool = True) -> Any:
    """Return a definition, or a part of one, as plain data.

    Without *sparse* also the keys that have their default. Functions are left out.
    """
    if isinstance(part, Workflow) or is_dataclass(part):
        return _part_to_plain(part, sparse=sparse)
    if isinstance(part, Markup):
        return {"markup": str(part)}
    if isinstance(part, str):
        return str(part)
    if isinstance(part, Mapping):
        return {str(name): to_plain(value, sparse=sparse) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [to_plain(item, sparse=sparse) for item in part if not _has_code(item)]
    return part


def _part_to_plain(part: object, *, sparse: bool) -> dict[str, Any]:
    code = [name for name in _DECIDING if callable(getattr(part, name))] if isinstance(part, StepDef) else []
    written = part.as_written() if hasattr(part, "as_written") else part
    plain: dict[str, Any] = {}
    for name, declared in keys_of(type(part)).items():
        value = getattr(written, declared.field)
        if (
            value is not Parameter.empty
            and not callable(value)
            and not (sparse and is_default(declared, value))
        ):
            plain[name] = to_plain(value, sparse=sparse)
    if code:
        plain[_CODE] = code
    return plain


def _has_code(item: object) -> bool:
    return (
        not isinstance(item, StepDef)
        and is_dataclass(item)
        and any(callable(getattr(item, declared.field)) for declared in keys_of(type(item)).values())
    )


def has_functions(workflow: Workflow) -> bool:
    """Return whether *workflow* contains functions, which plain data cannot hold."""
    return any(
        callable(part)
        for step in workflow.steps
        for part in (
            step.title,
            step.actions,
            step.handler,
            step.when,
            *(variant.when for variant in step.variants),
        )
    )


def from_plain(data: Mapping[str, object]) -> Workflow:
    """Return the workflow that `to_plain` made *data* from. It was validated before it was stored.

    TypeError if *data* is not a workflow: it may come from a cloned repository. Equal data give the same
    workflow object, so that its machine is compiled once.
    """
    text = json.dumps(data, default=_refuse)
    return _cached(text) if len(text) <= LARGEST_CACHED else _from_plain(data)


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"a {type(value).__name__} is not plain data")


@lru_cache(maxsize=4)
def _cached(text: str) -> Workflow:
    return _from_plain(json.loads(text))


def _from_plain(data: Mapping[str, object]) -> Workflow:
    if not isinstance(data, Mapping):
        raise TypeError("the workflow is not a mapping")
    reader = Reader(is_stored=True)
    workflow: Workflow = reader.part(data, Workflow, ())
    if reader.problems:
        path, what, *_ = reader.problems[0]
        raise TypeError(f"`{'.'.join(str(part)[:60] for part in path)}` {what}")
    for step in workflow.steps:
        if any(target is not None and target not in workflow for target in step.next.values()):
            raise TypeError(f"`next` of step `{step.id[:60]}` leads to an unknown step")
    workflow.derived["checked"] = True
    return workflow


def code_not_stored(context: StepContext) -> NoReturn:
    """Refuse: a function was here, which plain data cannot hold."""
    raise CodeNotStoredError(
        f"step `{context.step_id}` is decided by code, which a session does not store",
        hint="put the skill's folder back",
        step=context.step_id,
    )


class Reader:
    """Reads plain data into definition classes. Lists every problem, and leaves out what has the wrong shape.

    *place* returns where a path of the data is written. *is_stored* reads what a session stores: it may contain
    markup and marks for code. *has_code* reads a Python file, in which functions are allowed.
    """

    def __init__(
        self,
        *,
        place: Callable[[Path], str] = lambda _: "definition.json",
        is_stored: bool = False,
        has_code: bool = False,
    ) -> None:
        self.place = place
        self.is_stored = is_stored
        self.has_code = has_code
        self.problems: list[DocumentProblem] = []
        self.positions: dict[Path, list[int]] = {}
        """For each list of which items were left out, the positions of the others in the data."""

    def part(self, data: object, kind: type[Any], path: Path) -> Any:
        """Return the definition class *kind* that *data* is, `MISSING` if it cannot be made."""
        keys = keys_of(kind)
        if self.has_code and isinstance(data, (list, tuple)):  # by position, such as ("ok", None) for a rule
            data = dict(zip(keys, data, strict=False))
        if not isinstance(data, Mapping):
            return self._wrong(path, "is no mapping", "write `key: value` pairs")
        given: dict[str, Any] = {}
        for name, value in data.items():
            declared = keys.get(name)
            if declared is None or not (declared.key.in_file or self.is_stored or self.has_code):
                self._other_key(name, value, kind, keys, (*path, name))
                continue
            known = self.value(value, declared.shape, (*path, name))
            if known is not MISSING:
                given[declared.field] = (
                    _quotable(known) if declared.key.is_name and not self.is_stored else known
                )
        if self.is_stored and kind is StepDef:
            code = data.get(_CODE, ())
            given.update({name: code_not_stored for name in _DECIDING if name in code})
        missing = [name for name, each in keys.items() if each.default is MISSING and each.field not in given]
        for name in missing:
            if name not in data:
                self._wrong((*path, name), "is missing", "add it")
        return MISSING if missing else self._made(kind, given, path)

    def _made(self, kind: type[Any], given: dict[str, Any], path: Path) -> Any:
        if kind is Workflow:
            steps = given.pop("steps", ())
            return Workflow(given.pop("name"), *steps, validate=False, origin=self.place(path), **given)
        if any(field.name == "origin" for field in fields(kind)):
            given["origin"] = self.place(path)
        return kind(**given)

    def value(self, data: object, shape: Shape, path: Path) -> Any:
        """Return *data* if it has *shape*, `MISSING` otherwise."""
        if data is None and shape.nullable:  # in a file: not given
            return None if self.is_stored or self.has_code else MISSING
        if self.has_code and shape.code and callable(data):
            return data
        if shape.kind == "part" and shape.part is not None:
            return self.part(data, shape.part, path)
        if shape.kind == "list":
            return self._list(data, shape.of[0], path)
        if shape.kind == "mapping":
            return self._mapping(data, shape.of[0], path)
        if shape.kind == "value" and isinstance(data, (list, tuple)):
            return self._list(data, _SCALAR, path)
        if shape.kind == "union":
            return self._union(data, shape, path)
        if self.is_stored and shape.kind == "text" and isinstance(data, Mapping):
            return _markup(data) if isinstance(data.get("markup"), str) else self._misfit(shape, path)
        return data if _IS[shape.kind](data) else self._misfit(shape, path)

    def _union(self, data: object, shape: Shape, path: Path) -> Any:
        for member in shape.of:
            if _looks_like(data, member):
                return self.value(data, member, path)
        return self._misfit(shape, path)

    def _list(self, data: object, of: Shape, path: Path) -> Any:
        if self.has_code and of.kind == "text" and isinstance(data, str):
            return (data,)
        if not isinstance(data, (list, tuple)):
            return self._wrong(path, "is no list", "write a list: `[a, b]`, or a line `- a` for each")
        items = [(index, self.value(item, of, (*path, index))) for index, item in enumerate(data)]
        kept = [(index, item) for index, item in items if item is not MISSING]
        if len(kept) < len(items):
            self.positions[path] = [index for index, _ in kept]
        return tuple(item for _, item in kept)

    def _mapping(self, data: object, of: Shape, path: Path) -> Any:
        if not isinstance(data, Mapping):
            return self._wrong(path, "is no mapping", "write `key: value` pairs")
        values: dict[str, Any] = {}
        for name, item in data.items():
            if not isinstance(name, str):
                self._wrong((*path, str(name)), "has a name that is no text", "quote it")
                continue
            value = None if item is None and of.nullable else self.value(item, of, (*path, name))
            if value is not MISSING:
                values[name if self.is_stored else in_quotes(name)] = value
        return freeze(values)

    def _other_key(
        self, name: object, value: object, kind: type[Any], keys: Mapping[str, DeclaredKey], path: Path
    ) -> None:
        if self.is_stored and kind is StepDef and name == _CODE:
            return
        files = {declared.key.file for declared in keys.values() if declared.key.file}
        if name in files:
            if not isinstance(value, str):
                self._wrong(path, "is no text", "name a file, such as steps/look.md")
            return
        known = (*(known for known, each in keys.items() if each.key.in_file), *sorted(files - keys.keys()))
        self._note(DocumentProblem(path, "is no key here", known=known))

    def _misfit(self, shape: Shape, path: Path) -> Any:
        what, remedy = _MISFIT[shape.kind]
        return self._wrong(path, what, remedy)

    def _wrong(self, path: Path, what: str, remedy: str) -> Any:
        self._note(DocumentProblem(path, what, remedy))
        return MISSING

    def _note(self, problem: DocumentProblem) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


_SCALAR = Shape("scalar")


def _quotable(name: object) -> Any:
    """Return a name, or a mapping to names, that findings can quote."""
    if isinstance(name, Mapping):
        return {key: _quotable(value) for key, value in name.items()}
    return in_quotes(name) if isinstance(name, str) else name


def _looks_like(data: object, shape: Shape) -> bool:
    if shape.kind == "list":
        return isinstance(data, (list, tuple))
    if shape.kind in {"part", "mapping"}:
        return isinstance(data, Mapping)
    return _IS[shape.kind](data)


def _markup(data: Mapping[str, object]) -> str:
    markup = str(data["markup"])
    return Markup(markup) if _is_complete(markup) else markup


def _is_complete(markup: str) -> bool:
    """Return whether *markup* closes every element that it opens."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<text>{markup}</text>".encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError:
        return False
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, int, float, bool))


_IS: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "scalar": _is_scalar,
    "value": _is_scalar,
}
_MISFIT: Mapping[str, tuple[str, str]] = {
    "text": ("is no text", "write a text; quote it if YAML reads it as something else"),
    "integer": ("is no whole number", "write a whole number"),
    "number": ("is no number", "write a number, such as 10 or 0.5"),
    "boolean": ("is neither true nor false", "write true or false"),
    "scalar": ("is neither a text nor a number, true or false", "write one of them, such as quick or 10"),
    "value": ("is neither a text nor a number, true or false", "write one of them, or a list of them"),
    "union": ("is neither a list nor the name of a fact", "write `[a, b]`, or the fact that is one"),
    "list": ("is no list", "write a list: `[a, b]`, or a line `- a` for each"),
    "mapping": ("is no mapping", "write `key: value` pairs"),
    "part": ("is no mapping", "write `key: value` pairs"),
}
