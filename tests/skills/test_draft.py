"""A workflow drafted from the text of a skill: its headings are the steps, and the rest is not lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.sandbox import flow, project_skills, refused, told

TEXT = """\
---
name: old
description: "Migrates the database: from model to schema. Use it when a model changes."
license: MIT
---

# Database migration

For schemas.

## Step 1: Inspect the models

List the changed fields in `notes.md`. The price is $amount, the home $HOME, the process $$.

## Step 2 - Run the tests

```bash
pytest -q
## 3. A comment of the shell, not a heading
```

### On a laptop

Repeat until all tests pass. Never push.

## Step 3. Ask

Ask the user whether to deploy.

## Notes

Be careful.
"""


def drafted(text: str, *words: str, name: str = "migration") -> Any:
    Path("old.md").write_text(text, encoding="utf-8")
    return told("new", name, "--from", "old.md", *words)


def test_a_draft_passes_its_check_and_every_walk_through_it() -> None:
    drafted(TEXT)

    ran = flow("check", "migration", "--strict")

    assert (ran.status, ran.out) == (0, "1 workflow checked, nothing found\n")
    assert flow("test", "migration").status == 0


def test_numbered_headings_become_the_steps_and_their_texts_the_instructions() -> None:
    drafted(TEXT)

    steps = told("show", "migration")["steps"]

    assert [(step["id"], step["title"]) for step in steps] == [
        ("inspect-the-models", "Inspect the models"),
        ("run-the-tests", "Run the tests"),
        ("ask", "Ask"),
    ]
    actions = told("skill", "preview", "migration", "run-the-tests")["actions"]
    assert "### On a laptop" in str(actions)
    assert "A comment of the shell" in str(actions)


def test_a_dollar_of_the_text_is_no_placeholder() -> None:
    drafted(TEXT)

    first = told("start", "migration")

    assert "The price is $amount, the home $HOME, the process $$." in str(first["actions"])


def test_what_is_no_step_stays_in_the_skill_text() -> None:
    drafted(TEXT)

    text = (project_skills() / "migration" / "SKILL.md").read_text()

    assert "For schemas.\n\n## Notes\n\nBe careful." in text
    assert "Migrates the database: from model to schema" in text
    assert "license: MIT" in text
    assert "Inspect the models" not in text


def test_the_findings_say_what_the_text_asks_for_and_the_draft_lacks() -> None:
    draft_findings = drafted(TEXT)["findings"]

    hints = {(finding["step"], finding["hint"]) for finding in draft_findings}
    assert (
        "run-the-tests",
        "if it can be repeated, add `limit: 3`, and `iterate: run-the-tests` to `next`",
    ) in hints
    assert ("run-the-tests", 'add `evidence: {ok: [{id: command, run: ["pytest", "-q"]}]}`') in hints
    assert ("run-the-tests", 'add `forbids`, such as `forbids: ["Bash(git push*)"]`') in hints
    assert (
        "inspect-the-models",
        'add `evidence: {ok: [{id: file, file: "notes.md", changed: true}]}`',
    ) in hints
    assert ("ask", "add `questions`") in hints
    workflow = (project_skills() / "migration" / "workflow.yaml").read_text()
    assert all(f"# {finding['fact']}: {finding['hint']}\n" in workflow for finding in draft_findings)


def test_numbered_phases_are_the_steps_and_numbered_parts_of_them_are_not() -> None:
    long = "Read all of it. " * 400
    draft_findings = drafted(
        f"# Page\n\n# Process\n\n### Phase 1: Plan it\n\n#### 1.1 Read\n\n{long}\n\n### Phase 2: Do it\n"
    )

    assert [step["id"] for step in told("show", "migration")["steps"]] == ["plan-it", "do-it"]
    assert "#### 1.1 Read" in str(told("skill", "preview", "migration", "plan-it")["actions"])
    facts = [(finding["step"], finding["hint"]) for finding in draft_findings["findings"]]
    assert ("plan-it", "split the step: agents stop following long texts") in facts
    assert ("do-it", "write the instructions to steps/do-it.md") in facts


def test_headings_without_numbers_are_steps_unless_they_announce_something_else() -> None:
    drafted("# Page\n\n## When to use it\n\nOften.\n\n## Look\n\nLook.\n\n## Look\n\n## Examples\n\nOne.\n")

    steps = told("show", "migration")["steps"]

    assert [step["id"] for step in steps] == ["look", "look-2"]


@pytest.mark.parametrize(
    "text",
    ["No headings.\n", "# One\n\n## Two ##\n\nText.\n", "", f"## a{' ' * 60_000}b\n", "```a\n" * 10_000],
)
def test_a_text_without_steps_is_refused_and_nothing_is_written(text: str) -> None:
    Path("old.md").write_text(text, encoding="utf-8")

    status, error = refused("new", "migration", "--from", "old.md")

    assert (status, error["code"]) == (2, "NO_STEPS")
    assert not project_skills().exists()


def test_a_folder_means_its_skill_text_and_a_missing_file_is_named() -> None:
    Path("old/scripts").mkdir(parents=True)
    Path("old/SKILL.md").write_text(TEXT, encoding="utf-8")

    (*_, last) = told("new", "migration", "--from", "old")["findings"]

    assert (last["step"], last["fact"]) == (None, "the folder of the text also contains `scripts`")
    assert "gone.md" in refused("new", "another", "--from", "gone.md")[1]["message"]
