"""Every code of a finding, by an example that fails and one that passes; the reference pages show them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.findings_pages import WHY, findings_of, found_in, index, page
from support.mistakes import EXAMPLES

from flowrail.machines.definition.findings import CODES

INDEX = Path(__file__).parents[3] / "docs" / "reference" / "findings.md"
PAGES = INDEX.parent / "findings"


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_that_passes_has_no_finding(code: str, tmp_path: Path) -> None:
    assert found_in(EXAMPLES[code].files(wrong=False), tmp_path) == []


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_that_fails_has_that_finding_and_no_other(code: str) -> None:
    found = findings_of(code)

    assert {each.code for each in found} == {code}, found
    for each in found:
        assert each.message
        assert each.remedy
        assert each.severity == ("warning" if code >= "FR160" or code in {"FR126", "FR145"} else "error")


def test_every_code_has_an_example_and_a_reason() -> None:
    assert set(EXAMPLES) == set(CODES) == set(WHY)


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_page_that_shows_both_and_what_is_said(code: str) -> None:
    file = PAGES / f"{code}.md"
    if os.environ.get("FLOWRAIL_GOLDEN") == "write":
        PAGES.mkdir(exist_ok=True)
        file.write_text(page(code), encoding="utf-8")

    assert file.read_text(encoding="utf-8") == page(code)


def test_the_list_of_them_has_all_and_there_is_no_page_beside() -> None:
    if os.environ.get("FLOWRAIL_GOLDEN") == "write":
        INDEX.write_text(index(), encoding="utf-8")

    assert INDEX.read_text(encoding="utf-8") == index()
    assert {each.stem for each in PAGES.iterdir()} == set(CODES)
