"""The texts of the bundled skills stay a quarter shorter than they were before their evidence looked at content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from flowrail.discovery.locations import bundled_folder

WORDS_BEFORE = 75_935
"""Counted in the same way, before the texts were rewritten."""


def texts() -> Iterator[str]:
    """Yield what an agent reads: descriptions, instructions, resources, and the texts of workflow files.

    The generated table of steps in a `SKILL.md` is not among them.
    """
    for file in Path(bundled_folder()).rglob("*"):
        if file.name == "SKILL.md":
            _, front, body = file.read_text(encoding="utf-8").split("---\n", 2)
            yield yaml.safe_load(front)["description"]
            yield re.sub(r"<!-- flow:steps -->.*?<!-- /flow:steps -->", "", body, flags=re.DOTALL)
        elif file.suffix == ".md" and {"steps", "resources"} & set(file.parts):
            yield file.read_text(encoding="utf-8")
        elif file.suffix == ".yaml" and "scripts" not in file.parts:
            yield from strings(yaml.safe_load(file.read_text(encoding="utf-8")))


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def test_the_bundled_skills_have_at_most_three_quarters_of_their_words() -> None:
    words = sum(len(text.split()) for text in texts())

    assert words <= 0.75 * WORDS_BEFORE, words
