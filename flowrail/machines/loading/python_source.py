"""A workflow written in Python, read as text: ``WORKFLOW`` as far as it is literal.

Nothing runs. The calls of ``Workflow``, ``StepDef`` and the others become the same data as a YAML file, and are
read by the same code. An argument that only running the file would give is the finding FR190; if the graph
depends on one, it is not validated.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from inspect import Signature
from typing import Any

from flowrail.machines.definition.findings import Finding, Path, Place
from flowrail.machines.definition.from_data import PythonCall, Reader
from flowrail.machines.definition.parts import keys_of
from flowrail.machines.definition.step import Outcome, Rule, StepContext, StepDef, Variant
from flowrail.machines.definition.step_parts import AgentRole, Dispatch, GateConfig, Option, Question
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading.python_signatures import signature_of
from flowrail.machines.loading.workflow_document import ReadWorkflow, read

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
MOST_VALUES = 50_000
MOST_JOINED = 10_000_000
"""Characters of all texts that are joined with `+` in one file."""
_PARTS: Mapping[str, type[object]] = {
    part.__name__: part for part in (StepDef, Arg, Dispatch, GateConfig, Option, Question, Rule, Variant)
}
_ENUMS: Mapping[str, type[Enum]] = {"Outcome": Outcome, "AgentRole": AgentRole}
_OURS = frozenset({"Workflow", *_PARTS, *_ENUMS})
_OPTIONS: Mapping[str, str] = {
    declared.field: name for name, declared in keys_of(Workflow).items() if name != "steps"
}


class ComputedFunction:
    """A function of a file that is read, not run."""

    def __init__(self, source: str, signature: Signature | None = None, *, is_async: bool = False) -> None:
        self.__qualname__ = source
        self.is_async = is_async
        if signature is not None:
            self.__signature__ = signature
            hints = {name: parameter.annotation for name, parameter in signature.parameters.items()}
            hints["return"] = signature.return_annotation
            self.__annotations__ = {name: hint for name, hint in hints.items() if hint is not Signature.empty}

    def __call__(self, _context: StepContext, **_arguments: object) -> object:
        """Refuse to run."""
        raise TypeError(f"{self.__qualname__} was read, not loaded")


class _ComputedError(Exception):
    """A value that only running the file would give."""

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.line = getattr(node, "lineno", 1)
        self.what = what


def parsed(data: bytes) -> ast.Module:
    """Return *data*, which must be UTF-8, as a tree, without Python's warnings. Raises one of `UNREADABLE`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data.decode("utf-8-sig"))


def why_not(error: BaseException) -> tuple[str, str]:
    """Return why Python code could not be read, and what to do about it."""
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8", "save it as UTF-8"
    return f"is no Python: {getattr(error, 'msg', None) or type(error).__name__}", "fix the syntax"


def read_python(
    data: bytes,
    address: str,
    source: str,
    *,
    any_name: bool = False,
    text_of: Callable[[str], str | None] = lambda _: None,
) -> ReadWorkflow:
    """Return the workflow that *data* defines as far as it can be read, and what was found.

    The workflow is the one at *address*; with *any_name* it keeps the name that the file gives it. *text_of* returns
    the text of a step that has no `actions`.
    """
    try:
        tree = parsed(data)
        return _Source(tree, address, source, data.decode("utf-8", "replace"), text_of).read(
            any_name=any_name
        )
    except UNREADABLE as error:
        place = Place(source, getattr(error, "lineno", None) or 1)
        what, remedy = why_not(error)
        finding = Finding("FR100", "error", f"the file {what}", remedy, place)
        return ReadWorkflow(Workflow(address, validate=False), (finding,), lambda _: place)


class _Source:
    """One file: its constants and functions, and the data of its workflow with the line of each path."""

    def __init__(
        self, tree: ast.Module, address: str, source: str, text: str, text_of: Callable[[str], str | None]
    ) -> None:
        self.text_of = text_of
        self.address = address
        self.source = source
        self.lines = text.splitlines()
        self.constants: dict[str, ast.expr] = {}
        self.functions: dict[str, ast.AST] = {}
        self.findings: list[Finding] = []
        self.nodes: dict[Path, tuple[int, ast.expr]] = {}
        self.ids: dict[int, str] = {}
        self.is_complete = True
        """Whether everything that the graph depends on was read. Texts may be computed."""
        self.values_left = MOST_VALUES
        self.joined_left = MOST_JOINED
        self.resolving: set[str] = set()
        self.sources: dict[ast.AST, str] = {}
        self.signatures: dict[ast.AST | None, Signature | None] = {}
        for node in tree.body:
            self._note(node)
        bound, looked_into = _uses(tree)
        own_names = self.functions.keys() | self.constants.keys()
        self.workflow = self.constants.get("WORKFLOW")
        self.is_bound = "WORKFLOW" in bound
        self.functions = {name: node for name, node in self.functions.items() if bound[name] == 1}
        for name, value in list(self.constants.items()):
            if bound[name] > 1 or (isinstance(value, (ast.List, ast.Dict)) and name in looked_into):
                del self.constants[name]
        if bound["WORKFLOW"] > 1 or own_names & _OURS:
            self.workflow = None

    def _note(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.functions[node.name] = node
            return
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or len(targets) != 1:
            return
        if isinstance(targets[0], ast.Name) and isinstance(value, ast.expr):
            self.constants[targets[0].id] = value

    def read(self, *, any_name: bool) -> ReadWorkflow:
        call = self.workflow
        if call is None and not self.is_bound:
            remedy = "assign a Workflow to WORKFLOW at the top level"
            self._found("FR100", 1, "the file has no `WORKFLOW`", remedy)
            return ReadWorkflow(Workflow(self.address, validate=False), tuple(self.findings), self.place)
        if (
            not isinstance(call, ast.Call)
            or _called(call) != "Workflow"
            or any(word.arg is None for word in call.keywords)
        ):
            self._computed(call.lineno if call is not None else 1, "WORKFLOW")
            origin = str(self.findings[-1].place)
            workflow = Workflow(self.address, validate=False, origin=origin)
            return ReadWorkflow(workflow, tuple(self.findings), self.place)
        data = PythonCall(Workflow, self._workflow(call))
        return read(
            data,
            name=str(data["name"]) if any_name else self.address,
            place=self.place,
            origin=lambda path: Place(self.source, self._position(path)[0]),
            findings=tuple(self.findings),
            has_code=True,
            is_complete=self.is_complete,
        )

    def place(self, path: Path) -> Place:
        """Return the line of *path*, and the part that is meant."""
        words = [str(part) for part in path]
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
            words = [self.ids.get(path[1], words[1]), *words[2:]]
        inside = ".".join(words)
        return Place(self.source, *self._position(path), part=inside)

    def _position(self, path: Path) -> tuple[int, int]:
        for length in range(len(path), -1, -1):
            if path[:length] in self.nodes:
                line, node = self.nodes[path[:length]]
                if length < len(path):
                    return self._position_in_text(line, node, str(path[length]))
                return line, self._column(node) if node.lineno == line else 0
        return 1, 0

    def _position_in_text(self, line: int, node: ast.expr, word: str) -> tuple[int, int]:
        """Return the position of *word* in a text, otherwise that of the text."""
        resolved = self._resolved(node)
        if isinstance(resolved, ast.Constant) and isinstance(resolved.value, str):
            for number in range(resolved.lineno, (resolved.end_lineno or resolved.lineno) + 1):
                start = self._column(resolved) - 1 if number == resolved.lineno else 0
                if (found := self.lines[number - 1].find(word, start)) >= 0:
                    return number, found + 1
        return line, self._column(node) if node.lineno == line else 0

    def _column(self, node: ast.expr) -> int:
        """Return the column of *node*, whose offset counts bytes."""
        before = self.lines[node.lineno - 1].encode()[: node.col_offset]
        return len(before.decode("utf-8", "replace")) + 1

    def _resolved(self, node: ast.expr) -> ast.expr:
        """Return the value of a constant that *node* names, otherwise *node*."""
        return self.constants.get(node.id, node) if isinstance(node, ast.Name) else node

    def _workflow(self, call: ast.Call) -> dict[str, object]:
        options = {word.arg: word.value for word in call.keywords if word.arg}
        steps = list(call.args)
        if steps and "name" not in options:
            options["name"] = steps.pop(0)
        self.nodes[()] = (call.lineno, call)
        data: dict[str, Any] = {}
        for field, node in options.items():
            if field not in {"validate", "origin"}:
                name = _OPTIONS.get(field, field)
                try:
                    data[name] = self._value(node, (name,))
                except _ComputedError as error:
                    self.is_complete = False
                    self._computed(error.line, f"`{field}` ({error.what})")
        data.setdefault("name", self.address)
        data["steps"] = []
        for node in steps:
            try:
                data["steps"].append(self._step(self._resolved(node), ("steps", len(data["steps"]))))
            except _ComputedError as error:
                self.is_complete = False
                self._computed(error.line, error.what)
        for name, line in self._declared_by_handlers.items():
            self.nodes.setdefault(("params", name), (line, call))
        return data

    def _step(self, call: ast.expr, path: Path) -> object:
        if isinstance(call, (ast.List, ast.Tuple, ast.Dict, ast.Constant)):
            return self._value(call, path)
        if not isinstance(call, ast.Call) or _called(call) != "StepDef":
            raise _ComputedError(call, "a step")
        self.nodes[path] = (call.lineno, call)
        data: dict[str, Any] = {}
        for name, node in self._arguments(call, StepDef).items():
            at = (*path, name)
            try:
                data[name] = self._step_value(name, node, at)
            except _ComputedError as error:
                if name in {"id", "next"}:
                    raise
                if name == "actions":  # nothing in the graph depends on it
                    data[name] = ComputedFunction(_source(node))
                else:
                    self.is_complete = False
                self._computed(error.line, error.what)
        if isinstance(data.get("id"), str):
            self.ids[int(path[1])] = data["id"]
            text = None if "actions" in data else self.text_of(data["id"])
            if text is not None:
                data["actions"] = [text]
        return PythonCall(StepDef, data)

    def _step_value(self, name: str, node: ast.expr, path: Path) -> object:
        is_function = isinstance(node, ast.Lambda) or (
            isinstance(node, ast.Name) and node.id in self.functions
        )
        is_literal = isinstance(node, ast.Constant) or (
            isinstance(node, ast.Call) and _called(node) == "Dispatch"
        )
        if is_function or (name == "handler" and not is_literal):
            self.nodes[path] = (node.lineno, node)
            function = self.functions.get(node.id) if isinstance(node, ast.Name) else None
            is_async = isinstance(function, ast.AsyncFunctionDef) and not function.decorator_list
            return ComputedFunction(_source(node), self._signature(node), is_async=is_async)
        return self._value(node, path)

    def _value(self, node: ast.expr, path: Path) -> object:
        """Return the value of *node* as plain data, and remember the line of each path in it."""
        self.values_left -= 1
        if self.values_left < 0:
            raise _ComputedError(node, "a value that is too large")
        self.nodes.setdefault(path, (node.lineno, node))
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self._constant(node, path)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.elts)]
        if isinstance(node, ast.Dict):
            return self._dict(node, path)
        if isinstance(node, ast.Attribute):
            return self._member(node)
        if isinstance(node, ast.Call):
            part = _PARTS.get(_called(node))
            if part is None:
                raise _ComputedError(node, f"`{_called(node)}(…)`")
            arguments = self._arguments(node, part)
            return PythonCall(
                part, {name: self._value(value, (*path, name)) for name, value in arguments.items()}
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._joined(node, path)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            what = f"`{node.id}`" if isinstance(node, ast.Name) else "a value"
            raise _ComputedError(node, what) from None

    def _constant(self, node: ast.Name, path: Path) -> object:
        if node.id in self.resolving:
            raise _ComputedError(node, f"`{node.id}`")
        self.resolving.add(node.id)
        try:
            return self._value(self.constants[node.id], path)
        finally:
            self.resolving.discard(node.id)

    def _joined(self, node: ast.BinOp, path: Path) -> str:
        left, right = self._value(node.left, path), self._value(node.right, path)
        if isinstance(left, str) and isinstance(right, str):
            self.joined_left -= len(left) + len(right)
            if self.joined_left >= 0:
                return left + right
        raise _ComputedError(node, "a value")

    def _dict(self, node: ast.Dict, path: Path) -> dict[object, object]:
        data: dict[object, object] = {}
        for key_node, value in zip(node.keys, node.values, strict=True):
            if key_node is None:
                raise _ComputedError(node, "a mapping")
            key = self._value(key_node, (*path, "key"))
            if not isinstance(key, (str, int, float, bool, type(None))):
                raise _ComputedError(node, "a mapping")
            if key in data:
                what = f"`{key}` stands twice in one mapping, and the first is lost"
                self._found("FR131", key_node.lineno, what, "take one of them out")
            self.nodes[(*path, str(key))] = (key_node.lineno, value)
            data[key] = self._value(value, (*path, str(key)))
        return data

    def _member(self, node: ast.Attribute) -> str:
        enum = _ENUMS.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if enum is None or node.attr not in enum.__members__:
            raise _ComputedError(node, f"`{self._source(node)}`")
        return str(enum[node.attr].value)

    def _source(self, node: ast.AST) -> str:
        """Return the beginning of the source of *node*, unparsed once however many steps name it."""
        if node not in self.sources:
            self.sources[node] = _source(node)
        return self.sources[node]

    def _arguments(self, call: ast.Call, part: type[Any]) -> dict[str, ast.expr]:
        """Return the arguments of a call by the keys of *part*."""
        names = {declared.field: name for name, declared in keys_of(part).items()}
        positional = [field.name for field in fields(part) if field.init and field.name != "origin"]
        if len(call.args) > len(positional) or any(isinstance(each, ast.Starred) for each in call.args):
            raise _ComputedError(call, f"the arguments of {part.__name__}")
        given = dict(zip(positional, call.args, strict=False))
        if any(word.arg is None for word in call.keywords):
            raise _ComputedError(call, f"the arguments of {part.__name__}")
        given |= {str(word.arg): word.value for word in call.keywords}
        return {names.get(field, field): node for field, node in given.items() if field != "origin"}

    # --- functions

    @property
    def _declared_by_handlers(self) -> dict[str, int]:
        """The lines in which handlers declare parameters."""
        return {
            argument.arg: argument.lineno
            for node in self.signatures
            if isinstance(node, ast.FunctionDef)
            for argument in (*node.args.args[1:], *node.args.kwonlyargs)
        }

    def _signature(self, node: ast.expr) -> Signature | None:
        """Return the signature of a function; `None` if only running the file would give it."""
        function = self.functions.get(node.id) if isinstance(node, ast.Name) else node
        if function not in self.signatures:
            self.signatures[function] = self._signature_of(function)
        signature = self.signatures[function]
        self.values_left -= len(signature.parameters) if signature is not None else 0
        if self.values_left < 0:
            raise _ComputedError(node, "so many parameters of handlers")
        return signature

    def _signature_of(self, function: ast.AST | None) -> Signature | None:
        if isinstance(function, ast.Lambda):
            return signature_of(function, self._literal, self.constants)
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.decorator_list:
            return None
        signature = signature_of(function, self._literal, self.constants)
        for argument in (*function.args.args[1:], *function.args.kwonlyargs):
            annotation = argument.annotation
            if argument.arg not in signature.parameters and annotation and "Arg(" in _source(annotation):
                self._computed(argument.lineno, f"what `{argument.arg}` takes")
        return signature

    def _literal(self, node: ast.expr) -> object:
        """Return a value in a signature, an `Arg` made; ValueError if it is not literal."""
        try:
            value = self._value(node, ("signature",))
        except _ComputedError as error:
            raise ValueError(error.what) from None
        if isinstance(node, ast.Call) and _called(node) == "Arg":
            reader = Reader(has_code=True)
            arg = reader.part(value, Arg, ())
            if reader.problems:
                raise ValueError(reader.problems[0].what)
            return arg
        return value

    def _computed(self, line: int, what: str) -> None:
        remedy = "run the file to check it: `flow check --run`, if the file is your own or approved"
        self._found("FR190", line, f"{what} is computed, not read", remedy, "warning")

    def _found(self, code: str, line: int, message: str, remedy: str, severity: str = "error") -> None:
        self.findings.append(Finding(code, severity, message, remedy, Place(self.source, line)))


def _uses(tree: ast.Module) -> tuple[Counter[str], set[str]]:
    """Return how often each name is bound anywhere, and the names whose parts are used."""
    bound: Counter[str] = Counter()
    looked_into: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound[node.id] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound[node.name] += 1
        elif isinstance(node, ast.alias):
            bound[(node.asname or node.name).partition(".")[0]] += 1
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.value, ast.Name):
            looked_into.add(node.value.id)
    return bound, looked_into


def _source(node: ast.AST, longest: int = 80) -> str:
    try:
        return ast.unparse(node)[:longest]
    except RecursionError:
        return type(node).__name__


def _called(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""
