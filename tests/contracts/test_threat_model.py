"""The table of the threat model names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_bytes())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| .* \|$", PAGE.read_text().partition("## Tests")[2], flags=re.MULTILINE)[2:]

    named = [NAMED.findall(row) for row in rows]

    assert len(rows) >= 10
    assert all(named)
    assert [(path, name) for row in named for path, name in row if name not in names_in(path)] == []
