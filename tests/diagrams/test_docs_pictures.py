"""The pictures of our docs are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import writing
from support.records import records
from support.sandbox import BUNDLED

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers.svg import render
from flowrail.diagrams.session_trace import session_picture
from flowrail.machines.session import Report
from flowrail.skills.loader import Loader

PICTURES = Path(__file__).parents[2] / "docs" / "reference" / "pictures"


def session() -> Picture:
    name = "problem-analysis"
    definition = Loader().load(name).workflow()
    low = Report("done", {"confidence": "low", "checks_left": "yes"})
    no_trace = Report("done", {"traced": "no"})
    return session_picture(definition, records(definition, no_trace, "ok", low, low, seconds=140))


@pytest.mark.parametrize("name", ["session", *BUNDLED])
def test_the_pictures_of_the_docs_are_up_to_date(name: str) -> None:
    drawn = render(session() if name == "session" else picture(Loader().load(name).definition)) + "\n"

    file = PICTURES / f"{name}.svg"
    if writing():
        file.write_text(drawn, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn, "FLOWRAIL_GOLDEN=write pytest tests/diagrams"


def test_every_picture_is_shown_by_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PICTURES.parent.glob("*.md"))

    assert all(f"](pictures/{file.name})" in pages for file in PICTURES.iterdir())
