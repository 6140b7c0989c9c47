"""The expressions of a workflow's rules and conditions: comparisons of names and literals with and, or, not, in.

    mode == 'full' and (visit > 1 or area in ['auth', 'store'])

Python parses them; a whitelist of its nodes is evaluated over plain values. There is no call and no index, so an
expression can only compare. `true`, `false` and `null` are literals. A name without a value is null. The only names
with dots are results of evidence: `evidence.tests.passed` and `evidence.tests.verdict`.
Null equals only null, and is neither less nor more than anything.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from flowrail.machines.values import is_kind, same
from flowrail.text.safe_text import in_quotes

LONGEST = 500
DEEPEST = 20
WORDS = frozenset({"and", "or", "not", "in"})
CONSTANTS: Mapping[str, object] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}

EVIDENCE = "evidence."
"""The beginning of a name that is a result of evidence."""
RESULTS = ("passed", "verdict")
"""The results of a check that an expression can use."""

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_WORDS: Mapping[type[ast.AST], str] = {
    ast.And: "and",
    ast.Or: "or",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
}
Node = tuple[Any, ...]


class RuleError(ValueError):
    """An expression that cannot be read, or values that it cannot compare."""


class Expression(NamedTuple):
    """An expression: its source, and the tree and names that were read from it."""

    source: str
    tree: Node
    names: frozenset[str]

    def value(self, values: Mapping[str, object]) -> object:
        """Return the value of the expression over *values*.

        Raises `RuleError` if it compares values that have no order, such as a text and a number.
        """
        return _value(self.tree, values)

    def holds(self, values: Mapping[str, object]) -> bool:
        """Return whether the expression is true over *values*."""
        return bool(_value(self.tree, values))

    def comparisons(self) -> list[tuple[str, str, object]]:
        """Return each comparison of a name with a literal, as (name, operator, literal); `has` is the reverse of `in`."""
        return list(_comparisons(self.tree))


@lru_cache(maxsize=10_000)
def parse(source: str) -> Expression:
    """Return *source* as an expression; raise a `RuleError` that says what is wrong and where."""
    if len(source) > LONGEST:
        raise RuleError(f"has {len(source)} characters; at most {LONGEST}")
    text = re.sub(r"\s", " ", source).replace("\\", "\\\\")  # a back slash is an ordinary character
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise RuleError(f"cannot be read ({reason}): `{in_quotes(source)}`") from None
    names: set[str] = set()
    return Expression(source, _node(tree, names, 0), frozenset(names))


def _node(node: ast.expr, names: set[str], depth: int) -> Node:
    """Return *node* as a `Node` and add its names to *names*; `RuleError` if an expression cannot contain it."""
    if depth > DEEPEST:
        raise RuleError(f"is nested deeper than {DEEPEST}")

    def inner(child: ast.expr) -> Node:
        return _node(child, names, depth + 1)

    match node:
        case ast.List(elts=items):
            return ("list", *map(inner, items))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ("not", inner(operand))
        case ast.BoolOp(op=joined, values=values):
            return reduce(lambda left, right: (_WORDS[type(joined)], left, right), map(inner, values))
        case ast.Compare(left=left, ops=[ast.NotIn()], comparators=[right]):
            return ("not", ("in", inner(left), inner(right)))
        case ast.Compare(left=left, ops=[comparison], comparators=[right]) if type(comparison) in _WORDS:
            return (_WORDS[type(comparison)], inner(left), inner(right))
    return _name_or_literal(node, names)


def _name_or_literal(node: ast.expr, names: set[str]) -> Node:
    match node:
        case ast.Name(id=name) if name in CONSTANTS:
            return ("value", CONSTANTS[name])
        case ast.Name(id=name) if name.isascii():
            names.add(name)
            return ("name", name)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="evidence"), attr=check), attr=result) if (
            check.isascii() and result in RESULTS
        ):
            names.add(f"{EVIDENCE}{check}.{result}")
            return ("name", f"{EVIDENCE}{check}.{result}")
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return ("value", -number)
        case ast.Constant(value=str() | bool() | int() | float() | None as value):
            if not isinstance(value, float) or math.isfinite(value):
                return ("value", value)
    raise RuleError(f"can only compare names and literals, not `{in_quotes(ast.unparse(node))}`")


def _value(node: Node, values: Mapping[str, object]) -> object:
    kind = node[0]
    if kind == "value":
        return node[1]
    if kind == "name":
        return values.get(node[1])
    if kind == "list":
        return [_value(item, values) for item in node[1:]]
    if kind == "not":
        return not _value(node[1], values)
    left = _value(node[1], values)
    if kind == "and":
        return left and _value(node[2], values)
    if kind == "or":
        return left or _value(node[2], values)
    return _compare(kind, left, _value(node[2], values))


def _compare(kind: str, left: object, right: object) -> bool:
    if kind == "==":
        return same(left, right)
    if kind == "!=":
        return not same(left, right)
    if kind == "in":
        return _contains(left, right)
    if left is None or right is None:
        return False
    both_numbers = is_kind("number", left) and is_kind("number", right)
    if not both_numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise RuleError(f"cannot tell whether {left!r} {kind} {right!r}")
    return _ORDER[kind](left, right)


def _contains(item: object, whole: object) -> bool:
    if whole is None:
        return False
    if isinstance(whole, str):
        return isinstance(item, str) and item in whole
    if isinstance(whole, (list, tuple)):
        return any(same(item, element) for element in whole)
    raise RuleError(f"cannot look for {item!r} in {whole!r}")


_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "in": "has"}
"""What a comparison says about its right side."""


def _comparisons(node: Node) -> list[tuple[str, str, object]]:
    if node[0] in {"value", "name"}:
        return []
    comparisons = [pair for child in node[1:] for pair in _comparisons(child)]
    if node[0] in _FLIPPED:
        kind, left, right = node
        if left[0] == "name" and right[0] == "value":
            comparisons.append((left[1], kind, right[1]))
        if left[0] == "name" and right[0] == "list" and kind == "in":
            comparisons.extend((left[1], "==", item[1]) for item in right[1:] if item[0] == "value")
        if right[0] == "name" and left[0] == "value":
            comparisons.append((right[1], _FLIPPED[kind], left[1]))
    return comparisons
