"""The page about fault injection shows recorded runs. Some of them are repeated here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "adherence"


def test_each_layer_catches_what_the_page_says() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK / "inject.py"), "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
