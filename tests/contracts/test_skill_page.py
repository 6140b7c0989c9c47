"""What README and the reference say about the bundled skills is what the skills are."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support.golden import in_golden_block
from support.sandbox import BUNDLED, flow
from support.skill_pages import counts, pages

from flowrail.diagrams import mermaid
from flowrail.diagrams.extract import picture
from flowrail.skills.shelf import definition_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "skills.md"


@pytest.mark.parametrize("file", [ROOT / "README.md", PAGE], ids=lambda file: file.name)
def test_the_counts_are_those_of_the_skills(file: Path) -> None:
    assert in_golden_block(file, "counts", counts())


def test_the_picture_in_the_readme_is_the_drawn_one() -> None:
    drawn = mermaid.render(picture(definition_of("problem-analysis", ())[0]))

    assert in_golden_block(ROOT / "README.md", "picture", f"```mermaid\n{drawn}\n```")


def test_the_page_has_every_skill_as_it_is() -> None:
    assert in_golden_block(PAGE, "reference", pages())


def test_every_first_command_on_the_page_works() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("flow step ")]

    assert len(lines) == len(BUNDLED)
    for line in lines:
        ran = flow("start", *shlex.split(line)[2:])
        assert ran.status == 0, (line, ran.err)
