"""A workflow written in Python, read as text: ``WORKFLOW`` as far as it is literal.

Nothing in the file runs. This module calls ``Workflow``, ``StepDef`` and the others with the literal arguments in the
file, so the workflow is validated like one that was run. An argument that is not literal is the finding FR190. If
the graph depends on such an argument, the graph is not validated.
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

from flowrail.machines.definition.findings import Finding, Path, Place, in_order
from flowrail.machines.definition.from_data import Reader
from flowrail.machines.definition.parts import keys_of
from flowrail.machines.definition.step import Outcome, Rule, StepContext, StepDef, Variant
from flowrail.machines.definition.step_parts import AgentRole, Dispatch, GateConfig, Option, Question
from flowrail.machines.definition.validation import findings_of_reader
from flowrail.machines.definition.validation.shape import path_in_data
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow, step_texts
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow, misnamed
from flowrail.machines.loading.python_signatures import AnnotationReader

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
MOST_JOINED = 10_000_000
"""Characters of all texts that are joined with `+` in one file."""
MOST_PARAMETERS = 100
"""Parameters of one function."""
_PARTS: Mapping[str, type[Any]] = {
    part.__name__: part for part in (StepDef, Arg, Dispatch, GateConfig, Option, Question, Rule, Variant)
}
_ENUMS: Mapping[str, type[Enum]] = {"Outcome": Outcome, "AgentRole": AgentRole}
_OURS = frozenset({"Workflow", *_PARTS, *_ENUMS})
_NAMES: Mapping[str, str] = {declared.field: name for name, declared in keys_of(Workflow).items()}
"""The key of each argument of a workflow. Findings name the argument by its key."""


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
    """A value that is not literal. ``subject`` describes it in a finding."""

    def __init__(self, node: ast.expr, subject: str) -> None:
        super().__init__(subject)
        self.line = node.lineno
        self.subject = subject


def parsed(data: bytes) -> ast.Module:
    """Return *data*, which must be UTF-8, as a tree, without Python's warnings. Raises one of `UNREADABLE`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data.decode("utf-8-sig"))


def why_not(error: BaseException) -> tuple[str, str]:
    """Return why Python code could not be read, and what to do about it."""
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8", "save it as UTF-8"
    return f"is not valid Python: {getattr(error, 'msg', None) or type(error).__name__}", "fix the syntax"


def read_python(
    data: bytes,
    address: str,
    source: str,
    *,
    text_of: Callable[[str], str | None] = lambda _: None,
) -> LoadedWorkflow:
    """Return the workflow that *data* defines as far as it can be read, with its findings.

    The workflow is the one at *address*. *text_of* returns the text of a step that has no `actions`.
    """
    texts = step_texts.set(text_of)
    try:
        return _Source(data, address, source).read()
    except UNREADABLE as error:
        place = Place(source, getattr(error, "lineno", None) or 1)
        problem, remedy = why_not(error)
        finding = Finding("FR100", "error", f"the file {problem}", remedy, place)
        return LoadedWorkflow(Workflow(address, validate=False), (finding,), lambda _: place)
    finally:
        step_texts.reset(texts)


def workflow_name(data: bytes, module: str) -> str | None:
    """Return the name of the workflow in a module, by default the module's; `None` if it assigns no ``WORKFLOW``.

    Raises one of `UNREADABLE`.
    """
    source = _Source(data, module.rpartition(".")[2], module)
    return source.name() if source.is_assigned else None


class _Source:
    """One file: its constants and functions, and its workflow with the line of each path."""

    def __init__(self, data: bytes, address: str, source: str) -> None:
        tree = parsed(data)
        self.address = address
        self.source = source
        self.lines = data.decode("utf-8", "replace").splitlines()
        self.constants: dict[str, ast.expr] = {}
        self.functions: dict[str, ast.AST] = {}
        self.findings: list[Finding] = []
        self.nodes: dict[Path, ast.expr] = {}
        self.ids: dict[int, str] = {}
        self.is_complete = True
        """Whether everything that the graph depends on was read. Texts may be computed."""
        self.joined_left = MOST_JOINED
        self.values: dict[str, object] = {}
        """The values of constants that were read; `...` for a constant that is being read."""
        self.computed_functions: dict[ast.AST, ComputedFunction] = {}
        self.annotations = AnnotationReader(self._literal, self.constants)
        for node in tree.body:
            self._note(node)
        bound, looked_into = _uses(tree)
        own_names = self.functions.keys() | self.constants.keys()
        self.workflow = self.constants.get("WORKFLOW")
        self.is_assigned = self.workflow is not None
        self.is_bound = "WORKFLOW" in bound
        self.functions = {name: node for name, node in self.functions.items() if bound[name] == 1}
        for name, value in list(self.constants.items()):
            if bound[name] > 1 or (isinstance(value, (ast.List, ast.Dict)) and name in looked_into):
                del self.constants[name]
        if bound["WORKFLOW"] > 1 or own_names & _OURS:
            self.workflow = None

    def _note(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.functions[name] = node
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                self.constants[name] = value

    def name(self) -> str:
        """Return the name that the file gives its workflow; that of its address if it is computed."""
        call = self.workflow if isinstance(self.workflow, ast.Call) else None
        nodes = [word.value for word in call.keywords if word.arg == "name"] + call.args if call else []
        try:
            return str(self._value(nodes[0], ("name",))) if nodes else self.address
        except _ComputedError:
            return self.address

    def read(self) -> LoadedWorkflow:
        call = self.workflow
        if call is None and not self.is_bound:
            remedy = "assign a Workflow to WORKFLOW at the top level"
            self._add_finding("FR100", 1, "the file has no `WORKFLOW`", remedy)
        is_literal = isinstance(call, ast.Call) and all(word.arg is not None for word in call.keywords)
        if not isinstance(call, ast.Call) or not is_literal or _called(call) != "Workflow":
            if self.is_bound:
                self._computed(call.lineno if call is not None else 1, "WORKFLOW")
            workflow = Workflow(self.address, validate=False, origin=str(self.findings[-1].place))
            return LoadedWorkflow(workflow, tuple(self.findings), self.place)
        workflow, name = self._workflow(call)
        reader = Reader(place=lambda path: Place(self.source, self._position(path)[0]), has_code=True)
        readable: Workflow = reader.part(workflow, Workflow, ())
        findings = [*self.findings, *misnamed(name, workflow.name, self.place)]
        raws = findings_of_reader(reader, readable, rules=self.is_complete)
        findings += [raw.at(self.place(raw.path)) for raw in raws]

        def locate(path: Path) -> Place:
            return self.place(path_in_data(path, reader.steps_read))

        return LoadedWorkflow(readable, tuple(in_order(findings)), locate)

    def place(self, path: Path) -> Place:
        """Return the line of *path*, and the part of the workflow that it names."""
        words = [str(part) for part in path]
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
            words = [self.ids.get(path[1], words[1]), *words[2:]]
        inside = ".".join(words)
        return Place(self.source, *self._position(path), part=inside)

    def _position(self, path: Path) -> tuple[int, int]:
        for length in range(len(path), -1, -1):
            node = self.nodes.get(path[:length])
            if node is not None:
                word = str(path[length]) if length < len(path) else ""
                return self._position_in_text(node, word)
        return 1, 0

    def _position_in_text(self, node: ast.expr, word: str) -> tuple[int, int]:
        """Return the position of *word* in a text, otherwise that of the text."""
        text = self._resolved(node)
        if word and isinstance(text, ast.Constant) and isinstance(text.value, str):
            for number in range(text.lineno, (text.end_lineno or text.lineno) + 1):
                start = self._column(text) - 1 if number == text.lineno else 0
                if (index := self.lines[number - 1].find(word, start)) >= 0:
                    return number, index + 1
        return node.lineno, self._column(node)

    def _column(self, node: ast.expr) -> int:
        """Return the column of *node*, whose offset counts bytes."""
        before = self.lines[node.lineno - 1].encode()[: node.col_offset]
        return len(before.decode("utf-8", "replace")) + 1

    def _resolved(self, node: ast.expr) -> ast.expr:
        """Return the value of a constant that *node* names, otherwise *node*."""
        return self.constants.get(node.id, node) if isinstance(node, ast.Name) else node

    def _workflow(self, call: ast.Call) -> tuple[Workflow, object]:
        """Return the workflow, and the name that the file gives it."""
        options = {str(word.arg): word.value for word in call.keywords}
        nodes = list(call.args)
        if nodes and "name" not in options:
            options["name"] = nodes.pop(0)
        self.nodes[()] = call
        values: dict[str, Any] = {}
        for field, node in options.items():
            if field not in {"validate", "origin"}:
                try:
                    values[field] = self._value(node, (_NAMES.get(field, field),))
                except _ComputedError as error:
                    self.is_complete = False
                    self._computed(error.line, f"`{field}` ({error.subject})")
        steps: list[Any] = []
        for node in nodes:
            try:
                steps.append(self._step(self._resolved(node), ("steps", len(steps))))
            except _ComputedError as error:
                self.is_complete = False
                self._computed(error.line, error.subject)
        for function in self.computed_functions:
            if isinstance(function, ast.FunctionDef):
                for argument in (*function.args.args[1:], *function.args.kwonlyargs):
                    annotation = argument.annotation or call
                    self.nodes.setdefault(("params", argument.arg), annotation)
        written = values.pop("name", self.address)
        origin = f"{self.source}:{call.lineno}"
        return Workflow(self.address, *steps, validate=False, origin=origin, **values), written

    def _step(self, call: ast.expr, path: Path) -> object:
        if isinstance(call, (ast.List, ast.Tuple, ast.Dict, ast.Constant)):
            return self._value(call, path)
        if not isinstance(call, ast.Call) or _called(call) != "StepDef":
            raise _ComputedError(call, "a step")
        self.nodes[path] = call
        values: dict[str, Any] = {}
        for field, node in self._arguments(call, StepDef).items():
            try:
                values[field] = self._step_value(field, node, (*path, field))
            except _ComputedError as error:
                if field in {"id", "next"}:
                    raise
                if field == "actions":  # nothing in the graph depends on it
                    values[field] = ComputedFunction(_source(node))
                else:
                    self.is_complete = False
                self._computed(error.line, error.subject)
        self.ids[int(path[1])] = str(values.get("id", path[1]))
        return self._instance(call, StepDef, {**values, "origin": f"{self.source}:{call.lineno}"})

    def _step_value(self, field: str, node: ast.expr, path: Path) -> object:
        is_function = isinstance(node, ast.Lambda) or (
            isinstance(node, ast.Name) and node.id in self.functions
        )
        is_literal = isinstance(node, ast.Constant) or (
            isinstance(node, ast.Call) and _called(node) == "Dispatch"
        )
        if is_function or (field == "handler" and not is_literal):
            self.nodes[path] = node
            return self._function(node)
        return self._value(node, path)

    def _value(self, node: ast.expr, path: Path) -> object:
        """Return the value of *node*, and remember the line of each path in it."""
        self.nodes.setdefault(path, node)
        match node:
            case ast.Name(id=name) if name in self.constants:
                return self._constant(node, name, path)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                values = [self._value(item, (*path, index)) for index, item in enumerate(items)]
                return tuple(values) if isinstance(node, ast.Tuple) else values
            case ast.Dict():
                return self._dict(node, path)
            case ast.Attribute(value=ast.Name(id=enum), attr=member) if member in _members(enum):
                return _ENUMS[enum][member]
            case ast.Call() if _called(node) in _PARTS:
                part = _PARTS[_called(node)]
                names = {declared.field: name for name, declared in keys_of(part).items()}
                arguments = self._arguments(node, part)
                values_by_field = {
                    field: self._value(value, (*path, names.get(field, field)))
                    for field, value in arguments.items()
                }
                return self._instance(node, part, values_by_field)
            case ast.BinOp(op=ast.Add()):
                return self._joined(node, path)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            is_named = isinstance(node, (ast.Name, ast.Attribute))
            subject = f"`{_called(node)}(…)`" if isinstance(node, ast.Call) else "a value"
            raise _ComputedError(node, f"`{_source(node)}`" if is_named else subject) from None

    def _instance(self, node: ast.expr, part: type[Any], values: Mapping[str, object]) -> object:
        try:
            return part(**values)
        except TypeError as error:  # a required argument is missing
            raise _ComputedError(node, str(error)) from None

    def _constant(self, node: ast.expr, name: str, path: Path) -> object:
        if name not in self.values:
            self.values[name] = ...
            self.values[name] = self._value(self.constants[name], path)
        if self.values[name] is ...:
            raise _ComputedError(node, f"`{name}`")
        return self.values[name]

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
                message = f"`{key}` is in one mapping twice, and the first value is lost"
                self._add_finding("FR131", key_node.lineno, message, "remove one of them")
            data[key] = self._value(value, (*path, str(key)))
        return data

    def _arguments(self, call: ast.Call, part: type[Any]) -> dict[str, ast.expr]:
        """Return the arguments of a call by the fields of *part*."""
        positional = [field.name for field in fields(part) if field.init and field.name != "origin"]
        is_unpacked = any(isinstance(value, ast.Starred) for value in call.args)
        if len(call.args) > len(positional) or is_unpacked or any(word.arg is None for word in call.keywords):
            raise _ComputedError(call, f"the arguments of {part.__name__}")
        keywords = {str(word.arg): word.value for word in call.keywords if word.arg != "origin"}
        return {**dict(zip(positional, call.args, strict=False)), **keywords}

    def _function(self, node: ast.expr) -> ComputedFunction:
        function = self.functions.get(node.id, node) if isinstance(node, ast.Name) else node
        if function not in self.computed_functions:
            self.computed_functions[function] = self._computed_function(node, function)
        return self.computed_functions[function]

    def _computed_function(self, node: ast.expr, function: ast.AST) -> ComputedFunction:
        is_decorated = bool(getattr(function, "decorator_list", ()))
        if is_decorated or not isinstance(function, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)):
            return ComputedFunction(_source(node))
        if len(function.args.args) + len(function.args.kwonlyargs) > MOST_PARAMETERS:
            raise _ComputedError(node, "so many parameters of a function")
        signature = self.annotations.signature(function)
        for argument in (*function.args.args[1:], *function.args.kwonlyargs):
            annotation = argument.annotation
            if argument.arg not in signature.parameters and annotation and "Arg(" in _source(annotation):
                self._computed(argument.lineno, f"what `{argument.arg}` takes")
        is_async = isinstance(function, ast.AsyncFunctionDef)
        return ComputedFunction(_source(node), signature, is_async=is_async)

    def _literal(self, node: ast.expr) -> object:
        """Return a value in a signature; ValueError if it is not literal."""
        try:
            return self._value(node, ("signature",))
        except _ComputedError as error:
            raise ValueError(error.subject) from None

    def _computed(self, line: int, subject: str) -> None:
        remedy = "run the file to check it: `flow check --run`, if the file is your own or approved"
        self._add_finding("FR190", line, f"{subject} is computed, not read", remedy, "warning")

    def _add_finding(self, code: str, line: int, message: str, remedy: str, severity: str = "error") -> None:
        self.findings.append(Finding(code, severity, message, remedy, Place(self.source, line)))


def _members(enum: str) -> Mapping[str, object]:
    return _ENUMS[enum].__members__ if enum in _ENUMS else {}


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
