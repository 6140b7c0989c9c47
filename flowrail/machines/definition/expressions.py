"""The expressions that a workflow's rules and conditions are written in.

    or   :  and ("or" and)*
    and  :  not ("and" not)*
    not  :  "not" not | compared
    compared : value (("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in") value)?
    value:  name | text | number | true | false | null | "[" values "]" | "(" or ")"

Read once, bounded in length and depth, and evaluated over plain values: there is no call, no
attribute and no index, so an expression can do nothing but compare. A name that has no value yet
is null; null is equal to null only, and neither less nor more than anything.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from flowrail.text.safe_text import in_quotes

LONGEST = 500
DEEPEST = 20
MOST_KEPT = 500_000
"""So many characters of expressions are kept as they were read: all of a workflow's, which may have 500,000."""
WORDS = frozenset({"and", "or", "not", "in"})
CONSTANTS: Mapping[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>-?\d{1,18}(?:\.\d{1,18})?(?![\w.]))
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<mark>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)
    )""",
    re.VERBOSE,
)
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Node = tuple[Any, ...]


class RuleError(ValueError):
    """An expression that cannot be read, or values that it cannot compare."""


class Expression(NamedTuple):
    """An expression as written, and as read."""

    source: str
    tree: Node
    names: frozenset[str]

    def value(self, values: Mapping[str, Any]) -> Any:
        """Return what the expression comes to over *values*.

        Raises `RuleError` where it orders things that have no order, such as a text and a number.
        """
        return _value(self.tree, values)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether the expression is true over *values*."""
        return bool(_value(self.tree, values))

    def comparisons(self) -> list[tuple[str, str, Any]]:
        """Return each comparison of a name with a literal, as (name, operator, literal)."""
        return list(_comparisons(self.tree))


def parse(source: str) -> Expression:
    """Return *source* as an expression; raise `RuleError` saying what is wrong and where.

    What was read is kept: every rule of a check, and every step of a walk, asks again.
    """
    known = _kept.get(source)
    if known is None:
        known = _parsed(source)
        _kept.add(known)
    return known


class _Kept(dict[str, Expression]):
    """Expressions that were read, up to so many characters together; then none, and from the beginning."""

    left = MOST_KEPT

    def add(self, expression: Expression) -> None:
        self.left -= len(expression.source)
        if self.left < 0:
            self.clear()
            self.left = MOST_KEPT - len(expression.source)
        self[expression.source] = expression


_kept = _Kept()


def _parsed(source: str) -> Expression:
    if len(source) > LONGEST:
        raise RuleError(f"has {len(source)} characters; {LONGEST} are the most")
    reader = _Reader(source)
    tree = reader.either(0)
    if reader.kind != "end":
        reader.fail(f"expected the end, found `{reader.text}`")
    return Expression(source, tree, frozenset(reader.names))


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.start = 0
        self.kind = ""
        self.text = ""
        self.names: set[str] = set()
        self.advance()

    def fail(self, what: str) -> NoReturn:
        raise RuleError(f"{what} at character {self.start + 1} of `{in_quotes(self.source)}`")

    def advance(self) -> None:
        found = _TOKEN.match(self.source, self.at)
        if found:
            self.kind = str(found.lastgroup)
            self.text = found.group(self.kind)
            self.start, self.at = found.start(self.kind), found.end()
            if self.kind == "word" and self.text in WORDS:
                self.kind = "mark"
            return
        rest = self.source[self.at :]
        self.start = self.at + len(rest) - len(rest.lstrip())
        if rest.strip():
            self.fail(f"cannot read `{in_quotes(rest.strip()[0])}`")
        self.kind, self.text = "end", "the end"

    def took(self, mark: str) -> bool:
        if self.kind == "mark" and self.text == mark:
            self.advance()
            return True
        return False

    def either(self, depth: int) -> Node:
        if depth > DEEPEST:
            self.fail(f"nested deeper than {DEEPEST}")
        node = self.both(depth)
        while self.took("or"):
            node = ("or", node, self.both(depth))
        return node

    def both(self, depth: int) -> Node:
        node = self.negated(depth)
        while self.took("and"):
            node = ("and", node, self.negated(depth))
        return node

    def negated(self, depth: int) -> Node:
        if self.took("not"):
            if depth > DEEPEST:
                self.fail(f"nested deeper than {DEEPEST}")
            return ("not", self.negated(depth + 1))
        return self.compared(depth)

    def compared(self, depth: int) -> Node:
        left = self.single(depth)
        if self.kind != "mark":
            return left
        for mark in ("==", "!=", "<=", ">=", "<", ">", "in"):
            if self.took(mark):
                return (mark, left, self.single(depth))
        if self.took("not"):
            if not self.took("in"):
                self.fail(f"expected `in`, found `{in_quotes(self.text)}`")
            return ("not", ("in", left, self.single(depth)))
        return left

    def single(self, depth: int) -> Node:
        kind, text = self.kind, self.text
        if kind == "number":
            self.advance()
            return ("value", float(text) if "." in text else int(text))
        if kind == "text":
            self.advance()
            return ("value", text[1:-1])
        if kind == "word":
            self.advance()
            if text in CONSTANTS:
                return ("value", CONSTANTS[text])
            self.names.add(text)
            return ("name", text)
        if self.took("("):
            node = self.either(depth + 1)
            if not self.took(")"):
                self.fail(f"expected `)`, found `{in_quotes(self.text)}`")
            return node
        if self.took("["):
            return ("list", *self.items(depth))
        return self.fail(f"expected a value, found {'`' + text + '`' if kind != 'end' else text}")

    def items(self, depth: int) -> list[Node]:
        if depth > DEEPEST:
            self.fail(f"nested deeper than {DEEPEST}")
        items: list[Node] = []
        while not self.took("]"):
            if items and not self.took(","):
                self.fail(f"expected `,` or `]`, found `{in_quotes(self.text)}`")
            items.append(self.single(depth + 1))
        return items


def _value(node: Node, values: Mapping[str, Any]) -> Any:
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


def _compare(kind: str, left: Any, right: Any) -> bool:
    if kind == "==":
        return same(left, right)
    if kind == "!=":
        return not same(left, right)
    if kind == "in":
        return _contains(left, right)
    if left is None or right is None:
        return False
    both_numbers = _is_number(left) and _is_number(right)
    if not both_numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise RuleError(f"cannot tell whether {left!r} {kind} {right!r}")
    return _ORDER[kind](left, right)


def _contains(item: Any, whole: Any) -> bool:
    if whole is None:
        return False
    if isinstance(whole, str):
        return isinstance(item, str) and item in whole
    if isinstance(whole, (list, tuple)):
        return any(same(item, each) for each in whole)
    raise RuleError(f"cannot look for {item!r} in {whole!r}")


def same(left: Any, right: Any) -> bool:
    """Return whether two plain values are equal; true is not 1 here."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _comparisons(node: Node) -> list[tuple[str, str, Any]]:
    if node[0] in {"value", "name"}:
        return []
    found = [pair for child in node[1:] for pair in _comparisons(child)]
    if node[0] in {"==", "!=", "<", "<=", ">", ">=", "in"}:
        left, right = node[1], node[2]
        if left[0] == "name" and right[0] == "value":
            found.append((left[1], node[0], right[1]))
        if left[0] == "name" and right[0] == "list" and node[0] == "in":
            found.extend((left[1], "==", item[1]) for item in right[1:] if item[0] == "value")
        if right[0] == "name" and left[0] == "value" and node[0] in {"==", "!="}:
            found.append((right[1], node[0], left[1]))
    return found
