"""The threat model and the promises name tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "explanation"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_bytes())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("page", "head"), [("threat-model", "Protection"), ("promises", "Promise")])
def test_every_row_names_tests_that_exist(page: str, head: str) -> None:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    tables = re.findall(rf"^\| {head} \| Tests \|\n\|.*\|\n((?:\|.*\|\n)+)", text, flags=re.MULTILINE)
    rows = "".join(tables).splitlines()

    named = [NAMED.findall(row) for row in rows]

    assert len(rows) >= 10
    assert all(named)
    assert [(path, name) for row in named for path, name in row if name not in names_in(path)] == []
