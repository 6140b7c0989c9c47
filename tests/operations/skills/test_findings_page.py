"""The page of each finding shows a correct skill, a change, and what `flow check` prints after this change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.golden import writing

from flowrail.discovery.locations import Root, Scope
from flowrail.machines.definition.findings import CODES, Finding
from flowrail.operations.skills.check import check
from flowrail.skills.loader import Loader

INDEX = Path(__file__).parents[3] / "docs" / "reference" / "findings.md"
PAGES = INDEX.parent / "findings"
FENCE = re.compile(
    r"(?:`(?P<path>[\w./]+)`:\n\n)?(?P<fence>`{3,})(?P<kind>\w+)\n(?P<body>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
CHANGE = re.compile(r"^--- (?P<old>.+)\n\+\+\+ (?P<new>.+)\n(?P<lines>(?:(?!--- ).*\n)*)", re.MULTILINE)


def findings_in(folder: Path, files: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return what `flow check` finds in the entry workflow of a skill with these files."""
    for path, text in files.items():
        full = folder / "skills" / "demo" / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
    mine = Root(str(folder / "skills"), Scope.GLOBAL, "test", personal=True)
    (report, *_) = check([str(folder / "skills" / "demo")], Loader((mine,)), str(folder))
    return report.findings


def changed(files: Mapping[str, str], diff: str) -> dict[str, str]:
    """Return *files* after the changes of a diff."""
    result = dict(files)
    for change in CHANGE.finditer(diff):
        lines = [(line[:1] or " ", line[1:]) for line in change["lines"].splitlines()]
        before, after = ("".join(f"{text}\n" for sign, text in lines if sign in f" {own}") for own in "-+")
        text = result.pop(change["old"], "")
        assert before in text, diff
        if change["new"] != "/dev/null":
            result[change["new"]] = text.replace(before, after, 1)
    return result


@pytest.mark.parametrize("code", CODES)
def test_the_page_of_a_finding_shows_a_skill_without_it_and_a_change_that_causes_it(
    code: str, tmp_path: Path
) -> None:
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    card = next(
        fence["body"]
        for fence in FENCE.finditer(INDEX.read_text(encoding="utf-8"))
        if fence["kind"] == "markdown"
    )
    fences = list(FENCE.finditer(page))
    files = {"SKILL.md": card, **{fence["path"]: fence["body"] for fence in fences if fence["path"]}}
    (diff,) = (fence["body"] for fence in fences if fence["kind"] == "diff")
    (shown,) = (fence["body"] for fence in fences if fence["kind"] == "text")

    correct = findings_in(tmp_path / "correct", files)
    findings = findings_in(tmp_path / "wrong", changed(files, diff))

    printed = "".join(
        f"demo/{finding.place}: {finding.severity} {code}: {finding.message}\n    {finding.remedy}\n"
        for finding in findings
    ).replace(f"{tmp_path / 'wrong' / 'skills'}/", "")
    if writing():
        (PAGES / f"{code}.md").write_text(page.replace(shown, printed), encoding="utf-8")
    is_warning = code >= "FR160" or code in {"FR126", "FR145"}
    assert correct == ()
    assert {(finding.code, finding.severity) for finding in findings} == {
        (code, "warning" if is_warning else "error")
    }
    assert printed == shown
    assert page.startswith(f"# {code}: {CODES[code]}\n\n{'A warning' if is_warning else 'An error'}. ")


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {page.stem for page in PAGES.iterdir()} == set(CODES)
