"""Benchmarks run by hand, so nothing else notices that one uses a name that no longer exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_each_benchmark_finds_what_it_imports(path: Path) -> None:
    for package in ("mcp", "psycopg", "sqlalchemy"):
        pytest.importorskip(package)

    done = subprocess.run(
        [sys.executable, "-c", f"import {path.stem}"],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
