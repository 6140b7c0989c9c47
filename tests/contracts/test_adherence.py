"""The page about fault injection shows recorded runs. Some of them are repeated here, and the driver of hosts is tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "adherence"


def test_each_layer_catches_what_the_page_says() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK / "inject.py"), "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def run_host(task: str, output: Path, *words: str) -> dict[str, Any]:
    """Run the stand-in for a host on one task and return its result."""
    chosen = ["--tasks", task, "--arms", "evidence", "--repeats", "1", "--output", str(output)]
    subprocess.run(
        [sys.executable, str(BENCHMARK / "hosts.py"), "stand-in", *chosen, *words],
        capture_output=True,
        check=True,
    )
    (result,) = json.loads(output.read_text())
    assert isinstance(result, dict)
    return result


@pytest.mark.long
@pytest.mark.parametrize("task", ["timeouts", "incident", "handbook"])
def test_a_diligent_agent_reaches_every_point_of_a_task(task: str, tmp_path: Path) -> None:
    result = run_host(task, tmp_path / "results.json", "--no-kills")

    assert all(result["points"].values()), result["points"]


@pytest.mark.long
@pytest.mark.parametrize("task", ["timeouts", "incident", "handbook"])
def test_a_host_is_killed_twice_continues_and_is_graded(task: str, tmp_path: Path) -> None:
    result = run_host(task, tmp_path / "results.json")

    assert (result["starts"], result["finished"]) == (3, True)
    repeatable = {point: has for point, has in result["points"].items() if "once" not in point}
    assert sum(repeatable.values()) >= 0.6 * len(repeatable), repeatable
