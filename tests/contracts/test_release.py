"""What a release contains agrees with what its checks used."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from flowrail import __version__
from flowrail.text import yaml as yaml_text

ROOT = Path(__file__).parents[2]


def test_the_checks_pin_everything_that_flowrail_and_its_extras_install() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    known = {
        normalized(line.partition("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    extras = metadata.metadata("flowrail").get_all("Provides-Extra") or []
    waiting, seen = [("flowrail", extra) for extra in ["", *extras]], set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for text in metadata.requires(name) or []:
            needed = requirements.Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(normalized(needed.name), inner) for inner in ["", *needed.extras]]

    assert {name for name, _ in seen} - {"flowrail"} <= known


def test_a_release_has_the_files_that_its_check_makes() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    jobs = yaml_text.load(workflow, source="release.yml").value["jobs"]  # type: ignore[index]
    attached = next(step["run"] for step in jobs["attach"]["steps"] if "run" in step)

    assert "check -s release" in str(jobs["build"]["steps"])
    assert attached.startswith('gh release create "$GITHUB_REF_NAME" dist/* release/*')
    assert 'Path("release", f"{release}-constraints.txt")' in (ROOT / "noxfile.py").read_text()
    assert (
        f"pip install flowrail -c flowrail-{__version__}-constraints.txt"
        in (ROOT / "docs" / "index.md").read_text()
    )


def test_the_changelog_begins_with_the_version() -> None:
    assert (ROOT / "CHANGELOG.md").read_text().startswith(f"# Changelog\n\n## {__version__} ")


def normalized(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()
