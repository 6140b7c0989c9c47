"""A workflow written in Python, read as text: ``WORKFLOW`` as far as it is literal.

Nothing is run and nothing is guessed. What only running would tell is the finding FR190; where a
step itself is computed the graph is not whole, and its rules are not judged.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from inspect import Signature
from typing import Any

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition.delegation import AgentRole, Dispatch
from flowrail.machines.definition.findings import Finding
from flowrail.machines.definition.step import (
    LARGEST_TOGETHER,
    NAMES,
    WORKFLOW_NAME,
    Delegation,
    GateDef,
    OptionDef,
    Outcome,
    QuestionDef,
    Rule,
    StepContext,
    StepDef,
    Variant,
)
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading.literal_kinds import made_of
from flowrail.machines.loading.source_positions import SourcePlaces, signature_of
from flowrail.text.safe_text import in_quotes

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
DEEPEST = 60
MOST_VALUES = 50_000
MOST_PIECES = 65_536  # words, signs and line ends: a tree takes up to 750 bytes of memory for each
_PIECE = re.compile(r"\w+|[^\w\s]|\n")
_SLOWLY_READ = re.compile(rb"coding[:=][-_. \t]*(?:punycode|idna)", re.IGNORECASE)
"""Encodings that Python takes for a file as well, and in which reading it is quadratic in its length."""
LONGEST_TEXT = 1_000_000
_MAKERS: Mapping[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (Arg, Delegation, Dispatch, GateDef, OptionDef, QuestionDef, Rule, Variant)
}


def _names(kind: Any) -> tuple[str, ...]:
    """Return what *kind* is made of, in order; an author does not say where a step stands."""
    named = getattr(kind, "_fields", None) or [each.name for each in fields(kind) if each.init]
    return tuple(name for name in named if name != "origin")


_SIGNATURES: Mapping[str, tuple[str, ...]] = {
    name: _names(kind) for name, kind in {"StepDef": StepDef, **_MAKERS}.items()
}


class Computed:
    """Stands where running the file would give a function."""

    def __init__(self, source: str, takes: Signature | None = None) -> None:
        self.__qualname__ = source
        if takes is not None:
            self.__signature__ = takes
            hints = {name: each.annotation for name, each in takes.parameters.items()}
            hints["return"] = takes.return_annotation
            self.__annotations__ = {name: hint for name, hint in hints.items() if hint is not Signature.empty}

    def __call__(self, _context: StepContext, **_arguments: Any) -> Any:
        """Refuse to run: what stands here was only read."""
        raise TypeError(f"{self.__qualname__} was read, not loaded")


class TooMuchError(ValueError):
    """There is more of it than is read: one of `UNREADABLE`."""


class _UnreadableError(Exception):
    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.line = getattr(node, "lineno", 1)
        self.what = what


def parsed(data: bytes) -> ast.Module:
    """Return *data* as a tree, without what Python would say of it on the terminal.

    Raises SyntaxError, ValueError, RecursionError or MemoryError (all `UNREADABLE`).
    """
    if sum(1 for _ in _PIECE.finditer(data.decode("utf-8", "replace"))) > MOST_PIECES:
        raise TooMuchError(f"has more than {MOST_PIECES} words and signs")
    if any(_SLOWLY_READ.search(line) for line in data.splitlines()[:2]):
        raise SyntaxError("it says to be written in an encoding for names of hosts")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def why_not(error: BaseException) -> tuple[str, str]:
    """Return why Python could not be read, and what to do about it."""
    if isinstance(error, TooMuchError):
        return str(error), "make it smaller"
    return f"is no Python: {getattr(error, 'msg', None) or type(error).__name__}", "mend the syntax"


def read_python(data: bytes, address: str, source: str) -> tuple[Workflow, list[Finding]]:
    """Return the workflow that *data* defines as far as it can be read, and what was found."""
    try:
        tree = parsed(data)
    except UNREADABLE as error:
        line = getattr(error, "lineno", None) or 1
        what, remedy = why_not(error)
        finding = Finding("FR100", "error", f"the file {what}", remedy, f"{source}:{line}")
        return Workflow(address, validate=False), [finding]
    return _Reader(tree, address, source, data.decode("utf-8", "replace")).read()


class _Reader:
    def __init__(self, tree: ast.Module, address: str, source: str, text: str) -> None:
        self.address = address
        self.source = source
        self.text = text
        self.constants: dict[str, ast.expr] = {}
        self.functions: set[str] = set()
        self.made: dict[str, ast.AST] = {}
        self.declared: dict[str, int] = {}
        self.findings: list[Finding] = []
        self.workflow: ast.expr | None = None
        self.values_left = MOST_VALUES
        self.taken: dict[ast.AST | None, Signature | None] = {}
        self.text_left = LARGEST_TOGETHER
        self.sources: dict[ast.AST, str] = {}
        self.is_whole = True
        """Whether all that the rules judge was read; what a step tells may be computed."""
        for node in tree.body:
            self._note(node)
        bound, looked_into = _uses(tree)
        made = self.functions | self.constants.keys()
        self.is_bound = "WORKFLOW" in bound
        self.functions = {name for name in self.functions if bound[name] == 1}
        for name, value in list(self.constants.items()):
            if bound[name] > 1 or (isinstance(value, (ast.List, ast.Dict)) and name in looked_into):
                del self.constants[name]
        if bound["WORKFLOW"] > 1 or any(kind in made for kind in _OURS):
            self.workflow = None

    def _note(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.functions.add(node.name)
            self.made[node.name] = node
            return
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target: ast.expr = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        else:
            return
        if isinstance(target, ast.Name) and isinstance(value, ast.expr):
            self.constants[target.id] = value
            if target.id == "WORKFLOW":
                self.workflow = value

    def read(self) -> tuple[Workflow, list[Finding]]:
        call = self.workflow
        if call is None and not self.is_bound:
            self._found(
                "FR100", 1, "the file has no `WORKFLOW`", "assign a Workflow to WORKFLOW at the top level"
            )
            return Workflow(self.address, validate=False), self.findings
        options = {word.arg for word in call.keywords} if isinstance(call, ast.Call) else {None}
        if not isinstance(call, ast.Call) or _called(call) != "Workflow" or not options <= _OPTIONS:
            return self._computed(call)
        try:
            return self._workflow(call)
        except (TypeError, ValueError, AttributeError):  # what is odd here, running would refuse
            return self._computed(call)

    def _computed(self, node: ast.expr | None) -> tuple[Workflow, list[Finding]]:
        line = node.lineno if node is not None else 1
        remedy = "only running it would tell"
        self._found("FR190", line, "WORKFLOW is computed, not read", remedy, "warning")
        return Workflow(self.address, validate=False, origin=f"{self.source}:{line}"), self.findings

    def _workflow(self, call: ast.Call) -> tuple[Workflow, list[Finding]]:
        options = {word.arg: word.value for word in call.keywords if word.arg}
        arguments = list(call.args)
        name_node = arguments.pop(0) if arguments else options.get("name")
        name = in_quotes(str(self._try(name_node, "the name", self.address)))
        steps = [step for step in map(self._step_or_none, arguments) if step is not None]
        whole = len(steps) == len(arguments) and not any(isinstance(each, ast.Starred) for each in call.args)
        definition = Workflow(
            name,
            *steps,
            validate=False,
            entry_point=self._try_text(options.get("entry_point"), "the entry point"),
            description=str(self._try(options.get("description"), "the description", "")),
            params=self._try(options.get("params"), "the parameters", {}),
            origin=f"{self.source}:{call.lineno}",
            then=self._try_text(options.get("then"), "what comes then"),
            resources=self._try(options.get("resources"), "the resources", {}),
        )
        if definition.name != self.address and whole:
            self._found(
                "FR107",
                call.lineno,
                f"the file says `{definition.name}` but stands for `{self.address}`",
                f"name the workflow `{self.address}`, or rename the folder"
                if WORKFLOW_NAME.match(self.address)
                else f"rename the folder: {NAMES}",
            )
        if whole and self.is_whole:
            nodes = [
                self.constants.get(node.id, node) if isinstance(node, ast.Name) else node
                for node in arguments
            ]
            named = list(zip((step.id for step in steps), nodes, strict=True))
            places = SourcePlaces(
                self.source, self.text, call, named, self.constants, self._named, self.declared
            )
            definition.derived["places"] = places
            self.findings += check_workflow(definition, locate=places)
        return definition, self.findings

    def _named(self, call: ast.Call) -> Mapping[str, ast.expr]:
        """Return the arguments of a call by name; those of the workflow itself come by keyword."""
        if _called(call) not in _SIGNATURES:
            return {word.arg: word.value for word in call.keywords if word.arg}
        return self._arguments(call, _called(call))

    def _step_or_none(self, node: ast.expr) -> StepDef | None:
        try:
            if isinstance(node, ast.Name) and node.id in self.constants:
                node = self.constants[node.id]
            return self._step(node)
        except _UnreadableError as error:
            self._unread(error)
            return None

    def _step(self, call: ast.expr) -> StepDef:
        if not isinstance(call, ast.Call) or _called(call) != "StepDef":
            raise _UnreadableError(call, "a step")
        given = self._arguments(call, "StepDef")
        values: dict[str, Any] = {"origin": f"{self.source}:{call.lineno}"}
        for name, node in given.items():
            dispatches = isinstance(node, ast.Call) and _called(node) == "Dispatch"
            if (name == "handler" and not dispatches) or self._is_function(node):
                is_none = isinstance(node, ast.Constant) and node.value is None
                values[name] = None if is_none else Computed(self._source(node), self._takes(node))
                continue
            try:
                values[name] = self._value(node)
            except _UnreadableError as error:
                if name in {"id", "next"}:
                    raise
                if name == "actions":  # a function may stand there too, so nothing else depends on it
                    values[name] = Computed(self._source(node))
                else:
                    self.is_whole = False
                    values.pop(name, None)
                self._unread(error)
        if not isinstance(values.get("id"), str):
            raise _UnreadableError(call, "the id of a step")
        values["id"] = in_quotes(values["id"])
        ways = values.get("next", {})
        if not isinstance(ways, Mapping):
            raise _UnreadableError(call, f"the ways on of step {values['id']}")
        values["next"] = {
            outcome: in_quotes(to) if isinstance(to, str) else to for outcome, to in ways.items()
        }
        step = made_of(values)
        if step is None:
            raise _UnreadableError(call, f"step {values['id']}")
        return step

    def _takes(self, node: ast.expr) -> Signature | None:
        """Return what a function asks for, as far as it says so itself; `None` where that is not known."""
        made = self.made.get(node.id) if isinstance(node, ast.Name) and node.id in self.functions else node
        if made not in self.taken:
            self.taken[made] = self._asked_by(made)
        takes = self.taken[made]
        self.values_left -= len(takes.parameters) if takes is not None else 0
        if self.values_left < 0:
            raise _UnreadableError(node, "what so many handlers ask for")
        return takes

    def _asked_by(self, made: ast.AST | None) -> Signature | None:
        if isinstance(made, ast.Lambda):
            return signature_of(made, self._literal)
        if not isinstance(made, ast.FunctionDef) or made.decorator_list:
            return None
        takes = signature_of(made, self._literal)
        for each in (*made.args.args[1:], *made.args.kwonlyargs):
            self.declared.setdefault(each.arg, each.lineno)
            if each.arg not in takes.parameters and each.annotation and "Arg(" in _source(each.annotation):
                self._unread(_UnreadableError(each, f"what `{each.arg}` takes"))
        return takes

    def _literal(self, node: ast.expr) -> Any:
        try:
            return self._value(node)
        except _UnreadableError as error:
            raise ValueError(error.what) from None

    def _is_function(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Lambda) or (isinstance(node, ast.Name) and node.id in self.functions)

    def _arguments(self, call: ast.Call, kind: str) -> dict[str, ast.expr]:
        names = _SIGNATURES[kind]
        if len(call.args) > len(names) or any(isinstance(each, ast.Starred) for each in call.args):
            raise _UnreadableError(call, f"the arguments of {kind}")
        given = dict(zip(names, call.args, strict=False))
        for word in call.keywords:
            if word.arg is None or word.arg not in names:
                raise _UnreadableError(call, f"the arguments of {kind}")
            given[word.arg] = word.value
        return given

    def _value(self, node: ast.expr, depth: int = 0) -> Any:
        self.values_left -= 1
        if depth > DEEPEST or self.values_left < 0:
            raise _UnreadableError(node, "a value that is too large")
        read = _READERS.get(type(node))
        if read is None:
            raise _UnreadableError(node, "a value")
        return read(self, node, depth + 1)

    def _constant(self, node: Any, _depth: int) -> Any:
        return self._counted(node, node.value)

    def _counted(self, node: ast.expr, value: Any) -> Any:
        """Return *value*; a text counts each time that something reads it."""
        if isinstance(value, (str, bytes)):
            self.text_left -= len(value)
            if self.text_left < 0:
                raise _UnreadableError(node, "texts that are too large together")
        return value

    def _list(self, node: Any, depth: int) -> Any:
        return [self._value(each, depth) for each in node.elts]

    def _tuple(self, node: Any, depth: int) -> Any:
        return tuple(self._value(each, depth) for each in node.elts)

    def _dict(self, node: Any, depth: int) -> Any:
        if None in node.keys:
            raise _UnreadableError(node, "a mapping")
        keys = [self._value(key, depth) for key in node.keys]
        if not all(isinstance(key, (str, int, float, bool, type(None))) for key in keys):
            raise _UnreadableError(node, "a mapping")
        seen: set[Any] = set()
        for place, key in enumerate(keys):
            if key in seen and depth < DEEPEST:
                what = f"`{key}` stands twice in one mapping, and the first is lost"
                self._found("FR131", node.keys[place].lineno, what, "take one of them out")
            seen.add(key)
        return dict(zip(keys, (self._value(value, depth) for value in node.values), strict=True))

    def _name(self, node: Any, depth: int) -> Any:
        if node.id in self.constants:
            return self._value(self.constants[node.id], depth)
        raise _UnreadableError(node, f"`{node.id}`")

    def _attribute(self, node: Any, _depth: int) -> Any:
        enum = _ENUMS.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if enum is not None and node.attr in enum.__members__:
            return enum[node.attr]
        raise _UnreadableError(node, f"`{self._source(node)}`")

    def _source(self, node: ast.AST) -> str:
        """Return the beginning of what stands there: written out once, however many steps name it."""
        if node not in self.sources:
            self.sources[node] = _source(node)
        return self.sources[node]

    def _negative(self, node: Any, depth: int) -> Any:
        value = self._value(node.operand, depth)
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        raise _UnreadableError(node, "a value")

    def _joined(self, node: Any, depth: int) -> Any:
        left, right = self._value(node.left, depth), self._value(node.right, depth)
        texts = isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str)
        if texts and len(left) + len(right) <= LONGEST_TEXT:
            return self._counted(node, left + right)
        raise _UnreadableError(node, "a value")

    def _call(self, node: Any, depth: int) -> Any:
        kind = _called(node)
        if kind not in _MAKERS:
            raise _UnreadableError(node, f"`{kind}(…)`")
        values = {name: self._value(value, depth) for name, value in self._arguments(node, kind).items()}
        try:
            return _MAKERS[kind](**values)
        except (TypeError, ValueError) as error:
            raise _UnreadableError(node, f"`{kind}(…)`") from error

    def _try(self, node: ast.expr | None, what: str, otherwise: Any) -> Any:
        if node is None:
            return otherwise
        try:
            return self._value(node)
        except _UnreadableError as error:
            error.what = f"{what} ({error.what})"
            self._unread(error)
            self.is_whole = False
            return otherwise

    def _try_text(self, node: ast.expr | None, what: str) -> str | None:
        value = self._try(node, what, None)
        if isinstance(value, str):
            return in_quotes(value)
        if node is not None and value is not None:
            self._unread(_UnreadableError(node, what))
            self.is_whole = False
        return None

    def _unread(self, error: _UnreadableError) -> None:
        self._found(
            "FR190",
            error.line,
            f"{error.what} is computed, not read",
            "only running the file would tell",
            "warning",
        )

    def _found(self, code: str, line: int, message: str, remedy: str, severity: str = "error") -> None:
        self.findings.append(Finding(code, severity, message, remedy, f"{self.source}:{line}"))


_READERS: Mapping[type[ast.expr], Callable[[_Reader, Any, int], Any]] = {
    ast.Constant: _Reader._constant,  # noqa: SLF001 - the reader's own table
    ast.List: _Reader._list,  # noqa: SLF001
    ast.Tuple: _Reader._tuple,  # noqa: SLF001
    ast.Dict: _Reader._dict,  # noqa: SLF001
    ast.Name: _Reader._name,  # noqa: SLF001
    ast.Attribute: _Reader._attribute,  # noqa: SLF001
    ast.UnaryOp: _Reader._negative,  # noqa: SLF001
    ast.BinOp: _Reader._joined,  # noqa: SLF001
    ast.Call: _Reader._call,  # noqa: SLF001
}


_ENUMS: Mapping[str, type[Enum]] = {"Outcome": Outcome, "AgentRole": AgentRole}
_OURS = frozenset({"Workflow", "StepDef", *_MAKERS, *_ENUMS})
_OPTIONS = frozenset(
    {"name", "entry_point", "description", "params", "validate", "origin", "then", "resources"}
)


def _uses(tree: ast.Module) -> tuple[Counter[str], set[str]]:
    """Return how often each name is bound anywhere, and the names whose parts are reached."""
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
