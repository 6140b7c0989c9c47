"""`flow check` as people and programs read it, and `flow explain`."""

from __future__ import annotations

import re

import pytest
from support.sandbox import flow, put_skill, refused, told
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
def test_a_terminal_shows_the_line_with_a_mark_below_the_word() -> None:
    out = plain(shown("check", "broken", status=1)).splitlines()

    at = out.index("error FR102: step `first` leads to unknown step `secnd`")
    assert out[at + 1 : at + 5] == [
        "  --> .claude/skills/broken/workflow.yaml:3:57",
        "3 |   - {id: first, title: First, actions: [Do it.], next: {ok: secnd}}",
        "  |                                                         ^^",
        "  = did you mean `second`?",
    ]
    at = out.index("  --> .claude/skills/broken/steps/second.md:2:5")
    assert out[at + 1 : at + 3] == ["2 | Say $hello, 100%.", "  |     ^^^^^^"]
    assert out[-2:] == ["1 workflow checked: 3 errors", "flow explain FR102 says more about FR102"]


def test_the_mark_is_below_a_placeholder_in_a_text() -> None:
    put_skill("text", "name: NAME\nsteps:\n  - {id: a, title: A, actions: [Do $it.], next: {ok: null}}\n")

    yaml = plain(shown("check", "text", status=1)).splitlines()

    (mark,) = (line for line in yaml if line.startswith("  | "))
    assert next(line for line in yaml if line.startswith("3 | "))[mark.index("^") :].startswith("$it.]")


def test_a_long_line_is_cut_around_the_mark() -> None:
    text = "very " * 60
    put_skill(
        "broken", f"name: NAME\nsteps:\n  - {{id: a, title: A, actions: [{text}], next: {{ok: gone}}}}\n"
    )

    out = plain(shown("check", "broken", status=1)).splitlines()

    source, mark = (line for line in out if "| " in line)
    assert max(map(len, out)) <= 80
    assert source.startswith("3 | …")
    assert source[mark.index("^") : mark.index("^") + 2] == "ok"


@pytest.mark.usefixtures("_broken")
def test_a_pipe_gets_two_lines_for_each_finding() -> None:
    lines = flow("check", "broken").out.splitlines()

    assert len(lines) == 2 * 3 + 1
    assert lines[0].endswith("workflow.yaml:3: error FR102: step `first` leads to unknown step `secnd`")
    assert lines[1] == "    did you mean `second`?"
    assert lines[-1] == "1 workflow checked: 3 errors"


@pytest.mark.usefixtures("_broken")
def test_github_gets_an_annotation_of_the_line_for_each_finding() -> None:
    ran = flow("check", "broken", "--format", "github")

    first, *_, last = ran.out.splitlines()
    assert ran.status == 1
    assert first == (
        "::error file=.claude/skills/broken/workflow.yaml,line=3,col=57,title=FR102 in broken"
        "::step `first` leads to unknown step `secnd`; did you mean `second`?"
    )
    assert last.startswith(
        "::error file=.claude/skills/broken/steps/second.md,line=2,col=5,title=FR121 in broken::"
    )


def test_a_workflow_with_another_ending_is_found_when_all_skills_are_checked() -> None:
    folder = put_skill("misnamed")
    (folder / "workflow.yaml").rename(folder / "workflow.yml")

    listed = flow("list").err
    everything = told("check")
    by_path = told("check", ".claude/skills")

    assert listed.endswith(f"/misnamed has no workflow that is read; see why: flow check {folder}\n")
    for report in (everything, by_path):
        (finding,) = report["findings"]
        assert (finding["workflow"], finding["code"], finding["place"]) == (
            "misnamed",
            "FR174",
            "workflow.yml:1",
        )
        assert finding["remedy"] == "name it `workflow.yaml`, in YAML"


def test_explain_knows_the_codes_of_errors() -> None:
    out = flow("explain", "EVIDENCE_MISSING").out

    assert out.startswith("# EVIDENCE_MISSING\n\nAn error, with exit status 4. The evidence that an outcome ")
    assert "What to do: Provide each missing item" in out
    assert "unknown code" not in flow("explain", "storage").err


def test_explain_takes_small_letters_and_suggests_similar_codes() -> None:
    assert flow("explain", "fr102").out.startswith("# FR102\n")
    assert told("explain", "fr102")["code"] == "FR102"
    status, error = refused("explain", "REGISTRY_CHANGE")
    assert (status, error["code"]) == (2, "UNKNOWN_CODE")
    assert "`REGISTRY_CHANGED`" in error["hint"]


def test_explain_without_a_code_lists_the_codes() -> None:
    lines = flow("explain").out.splitlines()

    assert lines[0].split() == ["code", "kind", "about"]
    assert {"FR102", "REGISTRY_CHANGED", "EVIDENCE_MISSING"} <= {line.split()[0] for line in lines}
    assert refused("explain", "nothing-like-it")[1]["hint"] == "list the codes: flow explain"


def test_explain_formats_the_page_on_a_terminal() -> None:
    out = plain(shown("explain", "FR102"))

    assert re.search(r"^[ ┃]+FR102[ ┃]*$", out, re.MULTILINE)
    assert "```" not in out
    assert max(map(len, out.splitlines())) <= 80
