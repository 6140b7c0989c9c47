"""The signatures of handlers in a Python file that is read, not run: their parameters and outcomes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

_PLAIN: Mapping[str, type] = {
    kind.__name__: kind for kind in (str, int, float, bool, list, tuple, dict, object)
}


def signature_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    value_of: Callable[[ast.expr], object],
    aliases: Mapping[str, ast.expr],
) -> Signature:
    """Return the signature that a function is written with: its parameters, and the outcomes it may return.

    A parameter whose `Arg` is not literal is left out. *value_of* reads a literal value, or raises ValueError.
    *aliases* are names that annotations may use, such as ``Mode = Annotated[str, Arg(...)]``.
    """
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    kinds = [
        *[Parameter.POSITIONAL_ONLY] * len(arguments.posonlyargs),
        *[Parameter.POSITIONAL_OR_KEYWORD] * len(arguments.args),
        *[Parameter.KEYWORD_ONLY] * len(arguments.kwonlyargs),
    ]
    given = zip([*placed, *arguments.kwonlyargs], [*defaults, *arguments.kw_defaults], kinds, strict=True)
    after_context = list(given)[1:] if placed else list(given)
    asked = [_parameter(each, kind, default, value_of, aliases) for each, default, kind in after_context]
    context = [Parameter("context", Parameter.POSITIONAL_ONLY)] if placed or arguments.vararg else []
    returns = None if isinstance(function, ast.Lambda) else function.returns
    said = _returned(returns) or _outcomes(returns, value_of)
    return Signature(
        [*context, *(each for each in asked if each is not None)],
        return_annotation=Signature.empty if said is None else said,
        __validate_parameters__=False,
    )


def _parameter(
    each: ast.arg,
    kind: Any,
    default: ast.expr | None,
    value_of: Callable[[ast.expr], object],
    aliases: Mapping[str, ast.expr],
) -> Parameter | None:
    annotation = each.annotation
    if isinstance(annotation, ast.Name):
        annotation = aliases.get(annotation.id, annotation)
    stands = Parameter.empty if default is None else None
    if annotation is None or _is_plain(annotation):
        return Parameter(each.arg, kind, default=stands)
    marked = _parts(annotation, "Annotated")
    if len(marked) < 2:  # noqa: PLR2004 - the type, and what is said of it
        return None
    try:
        found = [value_of(mark) for mark in marked[1:]]
        meant = Parameter.empty if default is None else value_of(default)
    except ValueError:
        return None
    hint = Annotated[(_PLAIN.get(getattr(marked[0], "id", ""), object), *found)]  # type: ignore[valid-type]
    return Parameter(each.arg, kind, default=meant, annotation=hint)


def _returned(returns: ast.expr | None) -> type | None:
    """Return the plain type of an annotation, such as ``dict`` or ``None``."""
    if isinstance(returns, ast.Constant) and returns.value is None:
        return type(None)
    return _PLAIN.get(returns.id) if isinstance(returns, ast.Name) else None


def _outcomes(returns: ast.expr | None, value_of: Callable[[ast.expr], object]) -> object:
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
    """Return the items in the brackets of ``name[…]``; nothing if *node* is something else."""
    if not isinstance(node, ast.Subscript):
        return []
    outside = node.value
    called = outside.attr if isinstance(outside, ast.Attribute) else getattr(outside, "id", "")
    if called != name:
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_plain(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in _PLAIN
