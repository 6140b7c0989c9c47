"""The pages about the trial with real agents show what its stored runs say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNS = sorted((ROOT / "benchmarks" / "trial" / "runs").glob("*.json"))
PAGES = [ROOT / "docs" / "explanation" / name for name in ("trial.md", "when-it-does-not-help.md")]


def test_one_command_grades_the_stored_runs_without_any_package(tmp_path: Path) -> None:
    clone = shutil.copytree(ROOT / "benchmarks" / "trial", tmp_path / "benchmarks" / "trial")

    graded = subprocess.run(
        [sys.executable, "-S", clone / "grade.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    for page in PAGES:
        tables = re.findall(
            r"^<!-- .*pages\.trial.*\n((?:.*\n)*?)<!-- ", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert tables
        assert set("".join(tables).splitlines()) <= set(graded)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_figures_in_the_text_are_figures_of_the_runs(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    commands = [entry for run in RUNS for entry in json.loads(run.read_bytes())["commands"]]
    lost = [entry for entry in commands if entry.get("lost")]
    after_effect = sum(bool(entry.get("effect")) for entry in lost)
    prose = re.sub(r"^(\||<!--).*\n", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)

    for figure in re.findall(r"(\d\.\d) times as many bytes", " ".join(prose.split())):
        assert re.search(rf"^\|.*\| {figure} \|.*bytes \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    for earned, possible in re.findall(r"(\d+) of (\d+) points", prose):
        assert f"/ {earned} of {possible} |" in text
    for effects, losses in re.findall(r"(\d+) of the (\d+) losses", text):
        assert (int(effects), int(losses)) == (after_effect, len(lost))


def test_a_page_says_where_flowrail_cost_most() -> None:
    prose = " ".join(PAGES[0].read_text(encoding="utf-8").split())

    assert "5.6 times as many bytes as with the text" in prose


@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run.stem))
def test_a_stored_run_has_no_path_of_a_machine(run: Path) -> None:
    paths = re.findall(r"(?<![\w.*)}\]>])/(?:[\w.-]+/)+[\w.-]+", run.read_text(encoding="utf-8"))

    assert set(paths) <= {"/dev/null", "/proc/mounts"}
