"""The page that compares tools on broken graphs says what its script prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "compared-on-broken-graphs.md"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("broken_graphs", ROOT / "benchmarks" / "broken_graphs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def column(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")][:2] for line in lines]


def test_what_flowrail_finds_is_what_the_page_says() -> None:
    made = script()
    shown = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]

    printed = list(made.table([tool for tool in made.TOOLS if tool.name == "flowrail"]))

    assert column(shown) == column(printed)
    assert len(printed) == len(made.GRAPHS) + 3
