"""Every code of a finding, by an example that fails and one that passes; the reference page shows them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.mistakes import EXAMPLES, NOT_SHOWN, WHEN_RUN, page, write

from flowrail.formatters.fences import fence_problems
from flowrail.machines.findings import CODES, Finding, WorkflowError
from flowrail.machines.running import run_python
from flowrail.skills.checking import check

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"
SHOWN = [code for code in EXAMPLES if code not in NOT_SHOWN | WHEN_RUN]


def found_in(files: dict[str, str], folder: Path) -> list[Finding]:
    (first, *_) = check([str(write(folder / "demo", files))], (), str(folder), problems=fence_problems)
    return list(first.findings)


@pytest.mark.parametrize("code", SHOWN)
def test_the_example_that_passes_has_no_finding(code: str, tmp_path: Path) -> None:
    assert found_in(EXAMPLES[code].files(wrong=False), tmp_path) == []


@pytest.mark.parametrize("code", SHOWN)
def test_the_example_that_fails_has_that_finding_and_no_other(code: str, tmp_path: Path) -> None:
    files = EXAMPLES[code].files(wrong=True)
    if code == "FR171":
        files["steps/old.md"] = "Told by nobody.\n"

    found = found_in(files, tmp_path)

    assert {each.code for each in found} == {code}, found
    for each in found:
        assert each.message
        assert each.remedy
        assert each.place
        assert each.severity == ("warning" if code >= "FR160" or code == "FR126" else "error")


@pytest.mark.parametrize("code", sorted(WHEN_RUN))
def test_what_only_running_tells_is_told_when_it_is_run(code: str) -> None:
    example = EXAMPLES[code]
    run_python(example.files(wrong=False)[example.file].encode(), "demo", "workflow.py")

    with pytest.raises(WorkflowError) as caught:
        run_python(example.files(wrong=True)[example.file].encode(), "demo", "workflow.py")

    assert [each.code for each in caught.value.findings] == [code]


def test_every_code_has_an_example() -> None:
    assert set(EXAMPLES) == set(CODES)


def test_the_reference_page_is_made_of_them() -> None:
    if os.environ.get("FLOWRAIL_GOLDEN") == "write":
        PAGE.write_text(page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == page()
