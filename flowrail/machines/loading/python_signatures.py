"""The signatures of handlers in a Python file that is read, not run: their parameters and outcomes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

_PLAIN: Mapping[str, type] = {
    kind.__name__: kind for kind in (str, int, float, bool, list, tuple, dict, object)
}


class AnnotationReader:
    """Reads signatures and annotations.

    *value_of* reads a literal value, or raises ValueError. *aliases* are names that annotations may use, such as
    ``Mode = Annotated[str, Arg(...)]``.
    """

    def __init__(self, value_of: Callable[[ast.expr], object], aliases: Mapping[str, ast.expr]) -> None:
        self.value_of = value_of
        self.aliases = aliases

    def signature(self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Signature:
        """Return the signature of a function; a parameter whose `Arg` is not literal is left out."""
        arguments = function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
        kinds = [
            *[Parameter.POSITIONAL_ONLY] * len(arguments.posonlyargs),
            *[Parameter.POSITIONAL_OR_KEYWORD] * len(arguments.args),
            *[Parameter.KEYWORD_ONLY] * len(arguments.kwonlyargs),
        ]
        declared = zip(
            [*positional, *arguments.kwonlyargs], [*defaults, *arguments.kw_defaults], kinds, strict=True
        )
        parameters = [self._parameter(*values) for values in [*declared][1 if positional else 0 :]]
        context = [Parameter("context", Parameter.POSITIONAL_ONLY)] if positional or arguments.vararg else []
        returns = getattr(function, "returns", None)
        try:
            returned = Signature.empty if returns is None else self._hint(returns)
        except (ValueError, TypeError):
            returned = Signature.empty
        return Signature(
            [*context, *(parameter for parameter in parameters if parameter is not None)],
            return_annotation=returned,
            __validate_parameters__=False,
        )

    def _parameter(self, argument: ast.arg, default: ast.expr | None, kind: Any) -> Parameter | None:
        try:
            hint = Parameter.empty if argument.annotation is None else self._hint(argument.annotation)
            is_declared = hasattr(hint, "__metadata__")
            value = Parameter.empty if default is None else self.value_of(default) if is_declared else None
        except (ValueError, TypeError):
            return None
        return Parameter(argument.arg, kind, default=value, annotation=hint)

    def _hint(self, node: ast.expr) -> Any:
        """Return the type in an annotation; ValueError if it is unknown without running the file."""
        match node:
            case ast.Constant(value=None):
                return type(None)
            case ast.Name(id=name) if name in _PLAIN:
                return _PLAIN[name]
            case ast.Name(id=name) if isinstance(self.aliases.get(name), ast.Subscript):
                return self._hint(self.aliases[name])
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inside):
                items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
                if name == "Annotated":
                    return Annotated[(self._item(items[0]), *map(self.value_of, items[1:]))]
                if name == "Literal":
                    return Literal[tuple(map(self.value_of, items))]
                if name in _PLAIN:
                    return tuple[self._hint(items[0]), Any] if name == "tuple" else _PLAIN[name]  # type: ignore[misc]
        raise ValueError("an annotation")

    def _item(self, node: ast.expr) -> Any:
        """Return the type that an `Arg` is for; any type if it is unknown."""
        try:
            return self._hint(node)
        except ValueError:
            return object
