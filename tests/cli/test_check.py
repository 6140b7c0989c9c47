"""`flow check` as people and programs read it, and `flow explain`."""

from __future__ import annotations

import pytest
from support.sandbox import findings_of, flow, put_skill, told
from support.terminal import plain, shown

BROKEN = """\
name: NAME
steps:
  - {id: first, title: First, actions: [Do it.], next: {ok: secnd}}
  - {id: second, title: "Über $nope", next: {ok: null}}
"""


@pytest.fixture
def _broken() -> None:
    put_skill("broken", BROKEN, texts={"steps/second.md": "\nSay $hello, 100%.\n"})


@pytest.mark.usefixtures("_broken")
@pytest.mark.parametrize("on_terminal", [True, False])
def test_a_finding_is_shown_with_its_line(*, on_terminal: bool) -> None:
    out = plain(shown("check", "broken", status=1)) if on_terminal else flow("check", "broken").out
    lines = out.splitlines()

    assert lines[:3] == [
        ".claude/skills/broken/workflow.yaml:3:57: error FR102: step `first` leads to unknown step `secnd`",
        "3 |   - {id: first, title: First, actions: [Do it.], next: {ok: secnd}}",
        "    did you mean `second`?",
    ]
    at = next(number for number, line in enumerate(lines) if "steps/second.md:2:5: error" in line)
    assert lines[at + 1] == "2 | Say $hello, 100%."
    assert lines[-2:] == ["1 workflow checked: 3 errors", "flow explain FR102 says more about FR102"]


def test_a_workflow_with_another_ending_is_found_when_all_skills_are_checked() -> None:
    folder = put_skill("misnamed")
    (folder / "workflow.yaml").rename(folder / "workflow.yml")

    listed = flow("list").err

    assert listed.endswith(f"/misnamed has no workflow that is read; see why: flow check {folder}\n")
    for words in ([], [".claude/skills"]):
        (finding,) = findings_of(*words)
        assert (finding["code"], finding["place"]["file"]) == ("FR174", "workflow.yml")
        assert finding["remedy"] == "name it `workflow.yaml`, in YAML"


def test_explain_knows_the_codes_of_findings_and_errors_in_small_letters_too() -> None:
    explained = flow("explain", "EVIDENCE_MISSING").out
    assert explained.startswith(
        "EVIDENCE_MISSING: error\nExit status 4. The evidence for the reported outcome "
    )
    assert "What to do: Provide each missing item" in explained
    assert flow("explain", "fr102").out.startswith("FR102: finding\nA transition leads to a step that ")
    assert told("explain", "storage")["codes"][0]["kind"] == "error"
