"""Every line of the threat model names tests that prove it, and they exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises() -> list[str]:
    """Return the rows of the tables whose last column says what proves them."""
    _, *tables = re.split(
        r"^\| What holds \| Proved by \|\n\|[- |]+\|\n", PAGE.read_text(), flags=re.MULTILINE
    )
    return [row for table in tables for row in table.partition("\n\n")[0].splitlines() if row.startswith("|")]


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_bytes())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_promise_names_a_test() -> None:
    rows = promises()

    assert len(rows) > 30
    assert [row for row in rows if not NAMED.search(row)] == []


def test_every_named_test_exists() -> None:
    named = NAMED.findall(PAGE.read_text())

    assert [(path, name) for path, name in named if name not in names_in(path)] == []
