"""The expressions of a workflow's rules and conditions: comparisons of names and literals with and, or, not, in.

    mode == 'full' and (visit > 1 or area in ['auth', 'store'])

Python parses them; a whitelist of its nodes is evaluated over plain values. There is no call and no index, so an
expression can only compare. `true`, `false` and `null` are literals. A name without a value is null.
Null equals only null, and is neither less nor more than anything.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from flowrail.machines.values import is_kind, same
from flowrail.text.safe_text import in_quotes

LONGEST = 500
WORDS = frozenset({"and", "or", "not", "in"})
CONSTANTS: Mapping[str, object] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_ORDER: Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}


class RuleError(ValueError):
    """An expression that cannot be read, or values that it cannot compare."""


class Expression(NamedTuple):
    """An expression: its source, its syntax tree and the names in it."""

    source: str
    tree: ast.expr
    names: frozenset[str]

    def holds(self, values: Mapping[str, object]) -> bool:
        """Return whether the expression is true over *values*.

        Raises `RuleError` if it compares values that have no order, such as a text and a number.
        """
        return bool(_value(self.tree, values))

    def comparisons(self) -> Iterator[tuple[str, bool, Any]]:
        """Yield each comparison of a name with a literal: the name, whether it asks for equality, and the literal."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare):
                left, kind, right = node.left, node.ops[0], node.comparators[0]
                is_list = isinstance(right, ast.List)
                for name, literal in [(left, item) for item in getattr(right, "elts", [right])] + [
                    (right, left)
                ]:
                    if isinstance(name, ast.Name) and isinstance(literal, ast.Constant):
                        yield name.id, is_list or isinstance(kind, ast.Eq | ast.NotEq), literal.value


class _Literals(ast.NodeTransformer):
    """Turns `true`, `false`, `null` and negative numbers into constants."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the constant that a name means, or the name."""
        return ast.Constant(CONSTANTS[node.id]) if node.id in CONSTANTS else node  # type: ignore[arg-type]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Return a negative number as one."""
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return ast.Constant(-number)
        return self.generic_visit(node)


@lru_cache(maxsize=10_000)
def parse(source: str) -> Expression:
    """Return *source* as an expression; raise a `RuleError` that says what is wrong and where."""
    if len(source) > LONGEST:
        raise RuleError(f"has {len(source)} characters; at most {LONGEST}")
    text = re.sub(r"\s", " ", source).replace("\\", "\\\\")  # a back slash is an ordinary character
    try:
        tree: ast.expr = _Literals().visit(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise RuleError(f"cannot be read ({reason}): `{in_quotes(source)}`") from None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    for node in nodes:
        if not _is_allowed(node):
            raise RuleError(f"can only compare names and literals, not `{in_quotes(ast.unparse(node))}`")
    return Expression(source, tree, frozenset(node.id for node in nodes if isinstance(node, ast.Name)))


def _is_allowed(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name):
            return name.isascii()
        case ast.Constant(value=value):
            return isinstance(value, str | int | None) or (isinstance(value, float) and math.isfinite(value))
        case ast.Compare(ops=[kind]):
            return not isinstance(kind, ast.Is | ast.IsNot)
        case ast.UnaryOp(op=kind):
            return isinstance(kind, ast.Not)
    return isinstance(node, ast.List | ast.BoolOp)


def _value(node: ast.expr, values: Mapping[str, object]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values.get(name)
        case ast.List(elts=items):
            return [_value(item, values) for item in items]
        case ast.UnaryOp(operand=operand):
            return not _value(operand, values)
        case ast.BoolOp(op=joined, values=parts):
            result: object = None
            for part in parts:
                result = _value(part, values)
                if bool(result) is isinstance(joined, ast.Or):
                    break
            return result
        case ast.Compare(left=left, ops=[kind], comparators=[right]):
            return _compare(kind, _value(left, values), _value(right, values))


def _compare(kind: ast.cmpop, left: object, right: object) -> bool:
    if isinstance(kind, ast.Eq | ast.NotEq):
        return same(left, right) is isinstance(kind, ast.Eq)
    if isinstance(kind, ast.In | ast.NotIn):
        return _contains(left, right) is isinstance(kind, ast.In)
    if left is None or right is None:
        return False
    sign, in_order = _ORDER[type(kind)]
    both_numbers = is_kind("number", left) and is_kind("number", right)
    if not both_numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise RuleError(f"cannot tell whether {left!r} {sign} {right!r}")
    return in_order(left, right)


def _contains(item: object, whole: object) -> bool:
    if whole is None:
        return False
    if isinstance(whole, str):
        return isinstance(item, str) and item in whole
    if isinstance(whole, (list, tuple)):
        return any(same(item, element) for element in whole)
    raise RuleError(f"cannot look for {item!r} in {whole!r}")
