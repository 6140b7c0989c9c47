"""What a Python file says literally of its workflow: in which line a part stands, what a function takes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature

from flowrail.machines.definition import Outcome
from flowrail.machines.findings import Path

Arguments = Callable[[ast.Call], Mapping[str, ast.expr]]
"""Returns the arguments of a call by the names that its parameters have."""
_PLAIN = frozenset({"str", "int", "float", "bool", "list", "tuple", "dict", "object"})
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
    ) -> None:
        self.source = source
        self.lines = text.splitlines()
        self.whole = whole
        self.steps = steps
        self.constants = constants
        self.arguments = arguments

    def __call__(self, path: Path) -> str:
        """Return the place of *path*: the innermost part of it that the file writes out."""
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int) and path[1] < len(self.steps):
            step_id, node = self.steps[path[1]]
            inside = ".".join([step_id, *(str(part) for part in path[2:])])
            return f"{self.source}:{self._line(node, path[2:])} ({inside})"
        words = ".".join(str(part) for part in path)
        return f"{self.source}:{self._line(self.whole, path)}{f' ({words})' if words else ''}"

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
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None and _said(key) == str(part):
                    return key, value
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
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                if word in self.lines[number - 1]:
                    return number
        return key.lineno


def _said(key: ast.expr) -> str | None:
    if isinstance(key, ast.Constant):
        return str(key.value)
    if isinstance(key, ast.Attribute) and key.attr in Outcome.__members__:
        return str(Outcome[key.attr])
    return None


def signature_of(arguments: ast.arguments) -> Signature:
    """Return the signature that a function is written with, without what may be declared with `Arg`."""
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    kinds = [Parameter.POSITIONAL_OR_KEYWORD] * len(placed) + [Parameter.KEYWORD_ONLY] * len(
        arguments.kwonlyargs
    )
    given = zip([*placed, *arguments.kwonlyargs], [*defaults, *arguments.kw_defaults], kinds, strict=True)
    return Signature(
        [
            Parameter(each.arg, kind, default=Parameter.empty if default is None else None)
            for place, (each, default, kind) in enumerate(given)
            if not place or each.annotation is None or _is_plain(each.annotation)
        ],
        __validate_parameters__=False,
    )


def _is_plain(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in _PLAIN
