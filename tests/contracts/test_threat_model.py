"""The threat model and the promises name tests that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


CORNER = re.compile(
    r"\| [^|]+ \| `[^|]+` \| (?P<prints>[^|]+) \| `(?P<path>tests/[\w/]+\.py)::(?P<name>\w+)` \|"
)


def test_what_a_command_prints_in_a_corner_is_what_its_test_asserts() -> None:
    page = (PAGES / "promises.md").read_text(encoding="utf-8")
    _, _, table = page.partition("| Promise | Command | Prints | Test |\n| --- | --- | --- | --- |\n")
    rows = table.partition("\n\n")[0].splitlines()

    assert len(rows) > 60
    for row in rows:
        found = CORNER.fullmatch(row)
        assert found, row
        assert found["name"] in names_in(found["path"]), row
        asserted = "\n".join(texts_in(found["path"]))
        for shown in re.findall(r"(`+) ?(.+?) ?\1(?!`)", found["prints"]):
            assert all(part in asserted for part in shown[1].split("…")), row


def texts_in(path: str) -> Iterator[str]:
    """Yield the text of each literal; a value in one is `…`."""
    for node in ast.walk(ast.parse((ROOT / path).read_bytes())):
        if isinstance(node, ast.Constant):
            yield str(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
