"""The page about fault injection shows recorded runs. Some of them are repeated here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "adherence"


@pytest.mark.parametrize("agents", [["Races"], pytest.param([], id="all", marks=pytest.mark.long)])
def test_each_layer_catches_what_the_page_says(agents: list[str]) -> None:
    words = [sys.executable, str(BENCHMARK / "inject.py"), *agents, "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
