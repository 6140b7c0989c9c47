"""The package's source stays precisely typed, and imports its own modules at the top."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import flowrail

PACKAGE = Path(flowrail.__file__).parent
MOST_ANY = 300
MOST_LATE_IMPORTS = 10
"""Of our own modules, inside functions. Commands are imported by the table in `cli/main.py`."""


def trees() -> Iterator[tuple[str, list[str], ast.Module]]:
    """Yield the name, the lines and the syntax tree of every module of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "bundled" not in path.relative_to(PACKAGE).parts:
            text = path.read_text(encoding="utf-8")
            yield str(path.relative_to(PACKAGE)), text.splitlines(), ast.parse(text)


def late_imports(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    """Yield every import of one of our modules inside a function."""
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for node in ast.walk(statement):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flowrail"):
                    yield node


def test_few_values_have_no_type() -> None:
    found = {
        name: count
        for name, _, tree in trees()
        if (count := sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree)))
    }

    assert sum(found.values()) <= MOST_ANY, found


def test_few_imports_are_late_and_each_says_why() -> None:
    late = [(name, lines, node) for name, lines, tree in trees() for node in late_imports(tree)]
    silent = [
        f"{name}:{node.lineno}"
        for name, lines, node in late
        if not any("#" in text for text in lines[max(0, node.lineno - 3) : node.end_lineno])
    ]

    assert silent == []
    assert len(late) <= MOST_LATE_IMPORTS, [f"{name}:{node.lineno}" for name, _, node in late]
