"""Read plain data, or a workflow made in Python, into definition classes, and list all values of the wrong shape."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import Any, NamedTuple, NoReturn

from flowrail.errors import DocumentError, FlowError
from flowrail.machines.definition.parts import (
    UNKNOWN_ARGUMENTS,
    DeclaredKey,
    Key,
    Shape,
    freeze,
    is_default,
    keys_of,
)
from flowrail.machines.definition.step import StepContext, StepDef
from flowrail.machines.definition.values import is_number
from flowrail.storage.files import MissingFileError
from flowrail.text.safe_text import Markup, in_quotes

MOST_PROBLEMS = 5_000
CODE = "code"
DECIDING = ("handler", "when")

Path = tuple[str | int, ...]


class CodeNotStoredError(FlowError):
    """The stored workflow needs Python functions, and these are not stored."""

    code = "CODE_NOT_KEPT"


class DocumentProblem(NamedTuple):
    """A value of the wrong shape: where it is, what is wrong, and what to write instead."""

    path: Path
    message: str
    remedy: str = ""
    word: str = ""
    """An unknown key or choice; ``known`` are the valid ones."""
    known: tuple[str, ...] = ()
    code: str = "FR130"


def code_not_stored(context: StepContext) -> NoReturn:
    """Raise an error: the workflow had a function here, which plain data cannot contain."""
    raise CodeNotStoredError(
        f"step `{context.step_id}` is decided by code, which a session does not store",
        hint="put the skill's folder back",
        step=context.step_id,
    )


class Reader:
    """Reads plain data into definition classes. Lists every problem, and leaves out values of the wrong shape.

    *place* returns where a path of the data is written. *read_text* returns the text of a file that the data names, or
    raises `DocumentError`; a step's text is in *text_folder* unless the step names another file. With
    *is_stored*, the data comes from a session: it may contain markup and marks for code. With *has_code*, the data is
    a workflow made in Python: its parts are instances, and functions are allowed.
    """

    def __init__(
        self,
        *,
        place: Callable[[Path], object] = lambda _: "definition.json",
        read_text: Callable[[str], str] | None = None,
        text_folder: str = "steps",
        is_stored: bool = False,
        has_code: bool = False,
    ) -> None:
        self.place = place
        self.read_text = read_text
        self.text_folder = text_folder
        self.is_stored = is_stored
        self.has_code = has_code
        self.problems: list[DocumentProblem] = []
        self.count = 0
        """How many problems there are; `problems` lists the first ones."""
        self.steps_read: list[int] = []
        """The positions in the data of the steps that were read; the others were left out."""
        self.files: dict[Path, tuple[str, str]] = {}
        """The name and text of each file that was read, by the path of the key whose value is the text."""

    def part(self, data: object, kind: type[object], path: Path) -> Any:
        """Return *data* as an instance of the definition class *kind*; `MISSING` if that is impossible."""
        keys = keys_of(kind)
        written, before = data, self.count
        if self.has_code:
            data = self._in_python(data, kind, path)
            if data is MISSING:
                return MISSING
        if not isinstance(data, Mapping):
            return self._wrong(path, "is not a mapping", "write `key: value` pairs")
        values = self._values(data, kind, path)
        if self.has_code and self.count == before:
            return written  # an instance without a problem
        if self.is_stored and kind is StepDef:
            code = data.get(CODE, ())
            values.update({name: code_not_stored for name in DECIDING if name in code})
        missing = [
            name
            for name, declared in keys.items()
            if declared.default is MISSING and declared.field not in values
        ]
        for name in missing:
            if name not in data:
                self._wrong((*path, name), "is missing", "add it")
        return MISSING if missing else self._instance(kind, values, path)

    def _values(self, data: Mapping[Any, object], kind: type[object], path: Path) -> dict[str, object]:
        """Return the values of *data* that have the right shape, by field."""
        keys = keys_of(kind)
        values: dict[str, object] = {}
        for name, value in self._with_texts(data, kind, path).items():
            declared = keys.get(name)
            if declared is None or not (declared.key.in_file or self.is_stored or self.has_code):
                self._unknown_key(name, kind, keys, (*path, name))
                continue
            known = self.value(value, declared.shape, (*path, name))
            if declared.key.schema and not self.is_stored:
                known = self._in_bounds(known, declared.key, (*path, name))
            if known is not MISSING:
                values[declared.field] = (
                    _quotable(known) if declared.key.is_name and not self.is_stored else known
                )
        return values

    def _with_texts(self, data: Mapping[Any, object], kind: type[object], path: Path) -> Mapping[Any, object]:
        """Return *data* with the texts of the files that it names, as values of the keys that hold the texts."""
        with_file = [(name, declared) for name, declared in keys_of(kind).items() if declared.key.file]
        if self.read_text is None or not with_file:
            return data
        read, whole = self.read_text, dict(data)
        for name, declared in with_file:
            key = declared.key.file
            file = whole.pop(key, None)
            if key != name and whole.get(name) is not None:
                continue
            if isinstance(file, str):
                whole[name] = self._text(read, file, declared, (*path, key))
            elif file is None and kind is StepDef and isinstance(data.get("id"), str):
                file = f"{self.text_folder}/{data['id']}.md"
                whole[name] = self._text(read, file, declared, (*path, name), is_named=False)
            elif file is not None and key == name:  # the texts themselves
                whole[name] = file
            elif file is not None:
                self._wrong((*path, key), "is not a text", "name a file, such as steps/look.md")
        return {name: value for name, value in whole.items() if value is not MISSING}

    def _text(
        self,
        read: Callable[[str], str],
        file: str,
        declared: DeclaredKey,
        path: Path,
        *,
        is_named: bool = True,
    ) -> object:
        """Return the text in *file*, which the key at *path* names, or replaces; `MISSING` if it has none."""
        try:
            text = read(file)
        except DocumentError as error:
            message, remedy = f"cannot be read: {error.fact}", str(error.hint)
            if isinstance(error, MissingFileError) and not is_named:
                message, remedy = f"is missing, and {error.fact}", "write the file, or `actions`"
            return self._note(DocumentProblem(path, message, remedy, code="FR125"))
        for name in (declared.name, declared.key.file):
            self.files[(*path[:-1], name)] = file, text
        lines = text.strip("\n")
        return [lines] if declared.shape.kind == "list" else lines

    def _in_python(self, data: object, kind: type[object], path: Path) -> object:
        """Return the arguments of *data*, an instance of *kind*; `MISSING` if it is anything else."""
        if isinstance(data, kind):
            return _arguments(data)
        if kind is StepDef and isinstance(data, (list, tuple)):
            return self._wrong(path, "is a list of steps", "put `*` before the list")
        expected = f"a function or {kind.__name__}" if path[-1:] == ("handler",) else kind.__name__
        message = f"is of type {type(data).__name__}, not {expected}"
        return self._wrong(path, message, f"write `{kind.__name__}(...)`")

    def _instance(self, kind: type[Any], values: dict[str, Any], path: Path) -> object:
        if "steps" in keys_of(kind):  # a workflow
            steps = values.pop("steps", ())
            return kind(values.pop("name"), *steps, validate=False, origin=str(self.place(path)), **values)
        if "origin" in kind.__dataclass_fields__:
            values["origin"] = str(self.place(path))
        return kind(**values)

    def value(self, data: object, shape: Shape, path: Path) -> object:
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
            return self._stored_text(data, shape, path)
        return data if _IS[shape.kind](data) else self._misfit(shape, path)

    def _in_bounds(self, value: object, key: Key, path: Path) -> object:
        """Return *value* if it is within the bounds that its key declares, `MISSING` otherwise."""
        if isinstance(value, str) and value not in (choices := key.schema.get("enum", (value,))):
            problem = DocumentProblem(path, f"is `{in_quotes(value)}`", "", value, tuple(choices), key.code)
            return self._note(problem)
        for name, (is_within, words) in _BOUNDS.items():
            bound = key.schema.get(name)
            if bound is not None and is_number(value) and not is_within(value, bound):
                remedy = f"write a number that is {words} {bound}"
                return self._note(DocumentProblem(path, f"is {value}", remedy, code=key.code))
        return value

    def _stored_text(self, data: Mapping[object, object], shape: Shape, path: Path) -> object:
        pieces = data.get("parts", [data])
        if not isinstance(pieces, list):
            return self._misfit(shape, path)
        texts: list[str] = []
        for piece in pieces:
            markup = piece.get("markup") if isinstance(piece, Mapping) else None
            if not isinstance(piece, str) and not isinstance(markup, str):
                return self._misfit(shape, path)
            texts.append(piece if isinstance(piece, str) else _markup(str(markup)))
        return texts[0] if len(texts) == 1 else "".join(texts)

    def _union(self, data: object, shape: Shape, path: Path) -> object:
        for member in shape.of:
            if _looks_like(data, member):
                return self.value(data, member, path)
        return self._misfit(shape, path)

    def _list(self, data: object, of: Shape, path: Path) -> object:
        if self.has_code and of.kind == "text" and isinstance(data, str):
            return (data,)
        if not isinstance(data, (list, tuple)):
            return self._misfit(Shape("list"), path)
        items = [self.value(item, of, (*path, index)) for index, item in enumerate(data)]
        if path == ("steps",):
            self.steps_read = [index for index, item in enumerate(items) if item is not MISSING]
        elif MISSING in items:
            return MISSING
        return tuple(item for item in items if item is not MISSING)

    def _mapping(self, data: object, of: Shape, path: Path) -> object:
        if not isinstance(data, Mapping):
            return self._misfit(Shape("mapping"), path)
        values: dict[str, object] = {}
        for name, item in data.items():
            if not isinstance(name, str):
                self._wrong((*path, str(name)), "has a name that is not a text", "quote it")
                continue
            value = None if item is None and of.nullable else self.value(item, of, (*path, name))
            if value is not MISSING:
                values[name if self.is_stored else in_quotes(name)] = value
        return freeze(values)

    def _unknown_key(
        self, name: object, kind: type[object], keys: Mapping[str, DeclaredKey], path: Path
    ) -> None:
        if self.is_stored and kind is StepDef and name == CODE:
            return
        if self.has_code:
            message = f"is not an argument of {kind.__name__}"
            known = tuple(declared.field for declared in keys.values())
        else:
            message = "is an unknown key"
            files = {declared.key.file for declared in keys.values() if declared.key.file}
            in_file = (known for known, declared in keys.items() if declared.key.in_file)
            known = (*in_file, *sorted(files - keys.keys()))
        self._note(DocumentProblem(path, message, word=str(name), known=known))

    def _misfit(self, shape: Shape, path: Path) -> object:
        message, remedy = (_MISFIT_IN_PYTHON if self.has_code else _MISFIT)[shape.kind]
        is_function = self.has_code and shape.code
        return self._wrong(path, message, f"{remedy}, or a function" if is_function else remedy)

    def _wrong(self, path: Path, message: str, remedy: str) -> object:
        return self._note(DocumentProblem(path, message, remedy))

    def _note(self, problem: DocumentProblem) -> object:
        self.count += 1
        if self.count <= MOST_PROBLEMS:
            self.problems.append(problem)
        return MISSING


_SCALAR = Shape("scalar")


def _arguments(part: Any) -> dict[str, object]:
    """Return the arguments of *part* by key: fields whose value differs from the default, and unknown arguments."""
    arguments = dict(getattr(part, UNKNOWN_ARGUMENTS, {}))
    for name, declared in keys_of(type(part)).items():
        value = getattr(part, declared.field)
        if declared.default is MISSING or not is_default(declared, value):
            arguments[name] = value
    if "steps" in keys_of(type(part)):  # a workflow
        arguments["steps"] = part.written_steps
    return arguments


def _quotable(name: object) -> object:
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


def _markup(markup: str) -> str:
    return Markup(markup) if _is_complete(markup) else markup


def _is_complete(markup: str) -> bool:
    """Return whether *markup* closes every element that it opens."""
    from xml.parsers import expat  # 1 ms, and few texts are markup

    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<text>{markup}</text>".encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError:
        return False
    return True


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, int, float, bool))


_BOUNDS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "exclusiveMinimum": (operator.gt, "more than"),
    "maximum": (operator.le, "at most"),
}
_IS: Mapping[str, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "scalar": _is_scalar,
    "value": _is_scalar,
}
_MISFIT: Mapping[str, tuple[str, str]] = {
    "text": ("is not a text", "write a text; quote it if YAML reads it as something else"),
    "integer": ("is not a whole number", "write a whole number"),
    "number": ("is not a number", "write a number, such as 10 or 0.5"),
    "boolean": ("is neither true nor false", "write true or false"),
    "scalar": ("is neither a text nor a number, true or false", "write one of them, such as quick or 10"),
    "value": ("is neither a text nor a number, true or false", "write one of them, or a list of them"),
    "union": ("is neither a list nor the name of a fact", "write `[a, b]`, or the fact that is one"),
    "list": ("is not a list", "write a list: `[a, b]`, or a line `- a` for each"),
    "mapping": ("is not a mapping", "write `key: value` pairs"),
    "part": ("is not a mapping", "write `key: value` pairs"),
}
_MISFIT_IN_PYTHON: Mapping[str, tuple[str, str]] = {
    **_MISFIT,
    "text": ("is not a text", "write a string"),
    "scalar": ("is neither a text nor a number, True or False", "write one of them, such as 'quick' or 10"),
    "value": ("is neither a text nor a number, True or False", "write one of them, or a list of them"),
    "list": ("is not a list", "write a list: `[a, b]`"),
    "mapping": ("is not a mapping", "write a dict: `{name: value}`"),
}
