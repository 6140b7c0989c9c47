"""Evidence looks at content: sections, items with citations, and lists that name each other's items."""

from __future__ import annotations

import pytest
from support.evidence import begin, demand, report, write
from support.sandbox import flow

FINDINGS = {"id": "found", "file": "report.md", "section": "## Evidence", "items": "E", "citations": True}
CODE = "def wait():\n    return 60\n"


def refusal(session: str, outcome: str = "ok") -> str:
    ran = flow("step", "built", outcome, "--session", session)
    assert ran.status == 4
    return ran.err


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            "| E1 | app/wait.py:2 `return 60` |\n| E2 | app/wait.py:2 |",
            "no citation with quoted words for E2",
        ),
        ('- E1: app/wait.py:2 "return 30"', "it does not contain `return 30`"),
        ('- E1: report.md:3 "E1"', "no citation with quoted words for E1"),  # a report does not prove itself
        ("as F1 says, app/wait.py:2 `return 60`", "0 items with E and a number"),
    ],
)
def test_each_item_must_quote_words_that_are_in_the_line_it_cites(lines: str, problem: str) -> None:
    demand(FINDINGS)
    write("app/wait.py", CODE)
    session = begin()
    write("report.md", f"## Evidence\n\n{lines}\n")
    assert problem in refusal(session)

    write(
        "report.md", '## Evidence\n\n### E1\napp/wait.py:2 "return 60"\n\n**E2** app/wait.py:1 "def wait"\n'
    )
    assert report(session) == {}


@pytest.mark.parametrize(
    "text",
    [
        "## Evidence\n",
        "## Evidence\n\n## Other\nE1: app/wait.py:1 `def wait`\n",
        "```\n## Evidence\nE1\n```\n",
    ],
    ids=["nothing below", "in another section", "in a fence"],
)
def test_a_heading_alone_is_no_evidence(text: str) -> None:
    demand(FINDINGS)
    write("app/wait.py", CODE)
    session = begin()

    write("report.md", text)

    assert "nothing below ## Evidence; write ## Evidence in report.md" in refusal(session)


@pytest.mark.parametrize("covers", ["## Questions", "questions.md"])
def test_a_part_must_name_every_item_of_the_list_that_it_covers(covers: str) -> None:
    demand({"id": "answers", "file": "report.md", "section": "## Answers", "covers": covers})
    session = begin()
    questions = "Q1 which\n- Q2 when\n| Q10 | who |\n~~Q3~~ struck out\n"
    write("questions.md", questions)

    write("report.md", f"## Questions\n{questions}## Answers\nQ1: this. Q2: then.\n")
    assert "does not name Q10" in refusal(session)
    write("report.md", f"## Questions\n{questions}## Answers\nQ1: this. Q2: then. Q10: nobody knows.\n")
    assert report(session) == {}
