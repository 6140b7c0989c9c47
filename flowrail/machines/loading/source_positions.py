"""What a Python file says literally of its workflow: in which line a part stands, what a function takes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

from flowrail.machines.definition.findings import Path
from flowrail.machines.definition.step import Outcome

Arguments = Callable[[ast.Call], Mapping[str, ast.expr]]
"""Returns the arguments of a call by the names that its parameters have."""
_PLAIN: Mapping[str, type] = {
    kind.__name__: kind for kind in (str, int, float, bool, list, tuple, dict, object)
}
_OTHER_NAMES = {"if": "when", "text": "actions"}


class SourcePlaces:
    """Turns a path into a definition into file, line and the part that is meant."""

    def __init__(
        self,
        source: str,
        text: str,
        whole: ast.Call,
        steps: Sequence[tuple[str, ast.expr]],
        constants: Mapping[str, ast.expr],
        arguments: Arguments,
        declared: Mapping[str, int],
    ) -> None:
        self.source = source
        self.lines = text.splitlines()
        self.whole = whole
        self.steps = steps
        self.constants = constants
        self.arguments = arguments
        self.declared = declared
        """In which lines handlers declare parameters."""
        self._texts: dict[ast.Constant, str] = {}
        self._keys: dict[ast.Dict, dict[str | None, tuple[ast.expr, ast.expr]]] = {}

    def __call__(self, path: Path) -> str:
        """Return the place of *path*: the innermost part of it that the file writes out."""
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int) and path[1] < len(self.steps):
            step_id, node = self.steps[path[1]]
            inside = ".".join([step_id, *(str(part) for part in path[2:])])
            return f"{self.source}:{self._line(node, path[2:])} ({inside})"
        words = ".".join(str(part) for part in path)
        line = self._line(self.whole, path)
        if line == self.whole.lineno and path[:1] == ("params",) and len(path) > 1:
            line = self.declared.get(str(path[1]), line)
        return f"{self.source}:{line}{f' ({words})' if words else ''}"

    def _line(self, node: ast.expr, path: Path) -> int:
        key: ast.expr = node
        for part in path:
            found = self._part(node, part)
            if found is None:
                return self._inside(key, node, str(part))
            key, node = found
        return key.lineno

    def _part(self, node: ast.expr, part: str | int) -> tuple[ast.expr, ast.expr] | None:
        """Return where one part of *node* begins, and the part itself."""
        node = self._written(node)
        if isinstance(node, ast.Call):
            given = self.arguments(node)
            value = given.get(str(part), given.get(_OTHER_NAMES.get(str(part), "")))
            return None if value is None else (value, value)
        if isinstance(node, ast.Dict):
            if node not in self._keys:
                pairs = [
                    (key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None
                ]
                self._keys[node] = {_said(key): (key, value) for key, value in reversed(pairs)}
            return self._keys[node].get(str(part))
        if isinstance(node, (ast.List, ast.Tuple)) and isinstance(part, int) and part < len(node.elts):
            return node.elts[part], node.elts[part]
        return None

    def _written(self, node: ast.expr) -> ast.expr:
        """Return what a name stands for, where that is literal."""
        return self.constants.get(node.id, node) if isinstance(node, ast.Name) else node

    def _inside(self, key: ast.expr, node: ast.expr, word: str) -> int:
        """Return the line of a text in which *word* stands, or where the text begins."""
        node = self._written(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node not in self._texts:
                self._texts[node] = "\n".join(self.lines[node.lineno - 1 : node.end_lineno or node.lineno])
            at = self._texts[node].find(word)
            if at >= 0:
                return node.lineno + self._texts[node].count("\n", 0, at)
        return key.lineno


def _said(key: ast.expr) -> str | None:
    if isinstance(key, ast.Constant):
        return str(key.value)
    if isinstance(key, ast.Attribute) and key.attr in Outcome.__members__:
        return str(Outcome[key.attr])
    return None


def signature_of(function: ast.FunctionDef | ast.Lambda, value_of: Callable[[ast.expr], Any]) -> Signature:
    """Return the signature that a function is written with: what it asks for, and with what it may come back.

    Left out is what may be declared with an `Arg` that is not literal; *value_of* reads a literal value, or
    raises ValueError.
    """
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    kinds = [Parameter.POSITIONAL_OR_KEYWORD] * len(placed) + [Parameter.KEYWORD_ONLY] * len(
        arguments.kwonlyargs
    )
    given = zip([*placed, *arguments.kwonlyargs], [*defaults, *arguments.kw_defaults], kinds, strict=True)
    asked = [_parameter(each, kind, default, value_of) for each, default, kind in list(given)[1:]]
    context = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD)] if placed else []
    returns = function.returns if isinstance(function, ast.FunctionDef) else None
    said = _outcomes(returns, value_of)
    return Signature(
        [*context, *(each for each in asked if each is not None)],
        return_annotation=Signature.empty if said is None else said,
        __validate_parameters__=False,
    )


def _parameter(
    each: ast.arg, kind: Any, default: ast.expr | None, value_of: Callable[[ast.expr], Any]
) -> Parameter | None:
    stands = Parameter.empty if default is None else None
    if each.annotation is None or _is_plain(each.annotation):
        return Parameter(each.arg, kind, default=stands)
    marked = _parts(each.annotation, "Annotated")
    if len(marked) < 2:  # noqa: PLR2004 - the type, and what is said of it
        return None
    try:
        found = [value_of(mark) for mark in marked[1:]]
        meant = Parameter.empty if default is None else value_of(default)
    except ValueError:
        return None
    hint = Annotated[(_PLAIN.get(getattr(marked[0], "id", ""), object), *found)]  # type: ignore[valid-type]
    return Parameter(each.arg, kind, default=meant, annotation=hint)


def _outcomes(returns: ast.expr | None, value_of: Callable[[ast.expr], Any]) -> Any:
    """Return ``Literal[…]`` of the outcomes that an annotation names, alone or first in a tuple."""
    for each in (returns, *_parts(returns, "tuple")[:1]):
        named = _parts(each, "Literal")
        if named:
            try:
                return Literal[tuple(value_of(name) for name in named)]
            except (ValueError, TypeError):
                return None
    return None


def _parts(node: ast.expr | None, name: str) -> list[ast.expr]:
    """Return what stands in the brackets of ``name[…]``; nothing where *node* is something else."""
    if not isinstance(node, ast.Subscript):
        return []
    outside = node.value
    called = outside.attr if isinstance(outside, ast.Attribute) else getattr(outside, "id", "")
    if called != name:
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_plain(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in _PLAIN
