"""A workflow in YAML: how it is read, and all its errors at once, each with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.plain_data import PLAIN_DATA

from flowrail.machines.findings import Finding
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.workflow_source import LoadedWorkflow, read

TEXTS = {"steps/look.md": b"\nLook around.\n\n", "steps/last.md": b"Say it.\n", "steps/again.md": b"Again.\n"}


def parsed(text: str, name: str = "dull") -> LoadedWorkflow:
    file = WorkflowFile(name, "/skills/dull", "workflow.yaml", "steps")
    return read(file, {"workflow.yaml": text.encode("utf-8", "surrogatepass"), **TEXTS})


# --- errors

TEN = """\
name: dul
entry: lok
params: {mode: {type: string, choices: [quick, full], default: fast}}
steps:
  - id: look
    titel: Look
    title: Look at $topik
    limit: 0
    next: {ok: last, okay: look}
  - id: last
    title: Last
    when: "mode = 'full'"
    next: {ok: lst}
  - id: last
    title: 5
    actions: [Again.]
    next: {ok: null}
  - id: gone
    title: Gone
    next: {ok: null}
"""


def test_ten_errors_are_reported_at_once_each_with_place_code_and_remedy() -> None:
    loaded = parsed(TEN)
    definition, findings = loaded.definition, loaded.findings

    assert sorted((finding.code, str(finding.place)) for finding in findings) == [
        ("FR101", "workflow.yaml:2"),
        ("FR102", "workflow.yaml:13"),
        ("FR106", "workflow.yaml:14"),
        ("FR107", "workflow.yaml:1"),
        ("FR113", "workflow.yaml:9"),
        ("FR119", "workflow.yaml:12"),
        ("FR121", "workflow.yaml:7"),
        ("FR122", "workflow.yaml:3"),
        ("FR125", "workflow.yaml:18"),
        ("FR130", "workflow.yaml:15"),
        ("FR130", "workflow.yaml:6"),
        ("FR130", "workflow.yaml:8"),
    ]
    assert all(finding.severity == "error" and finding.message and finding.remedy for finding in findings)
    assert len(definition.steps) == 4


def with_step(step: str) -> str:
    return f"name: dull\nsteps:\n  - {{id: look, title: Look, {step}}}\n"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("[]", "FR100", 1),
        ("name: dull\nsteps: []\n", "FR114", 2),
        ("steps:\n  - {id: look, title: Look, next: {ok: null}}\n", "FR130", 1),
        ("name: dull\nsteps:\n  - {title: A, next: {ok: null}}\n", "FR130", 3),
        (with_step("next: {ok: 5, fail: null}"), "FR130", 3),
        (with_step("limit: '5', next: {ok: null}"), "FR130", 3),
        (with_step("when: 5, next: {ok: null}"), "FR130", 3),
        (with_step("rules: [{if: a}], next: {ok: null}"), "FR130", 3),
        (with_step("reports: {x: {type: text}}, next: {ok: null}"), "FR130", 3),
        (with_step("reports: {x: {min_length: -1}}, next: {ok: null}"), "FR130", 3),
        (with_step("variants: [{text: steps/again.md}], next: {ok: null}"), "FR130", 3),
        (with_step("text: 5, next: {ok: null}"), "FR130", 3),
    ],
)
def test_an_error_is_reported_once_with_its_line(text: str, code: str, line: int) -> None:
    assert [(finding.code, finding.place.line) for finding in parsed(text).findings] == [(code, line)]


def lines_of(text: str) -> list[str]:
    return [finding.line.removeprefix("workflow.yaml:") for finding in findings_in(text)]


def findings_in(text: str) -> tuple[Finding, ...]:
    return parsed(text).findings


def test_several_unknown_keys_are_all_listed() -> None:
    found = lines_of(f"nam: dull\n{with_step('titel: A, aktions: [Look.], next: {ok: null}')}")

    assert [line.partition(";")[0] for line in found if "unknown key" in line] == [
        "1: error FR130: `nam` is an unknown key",
        "4: error FR130: `titel` of step `look` is an unknown key",
        "4: error FR130: `aktions` of step `look` is an unknown key",
    ]


def test_a_misspelt_outcome_is_one_finding() -> None:
    text = with_step(
        "actions: [A.], rules: [{if: visit > 1, outcome: fail}, {outcome: ok}], next: {ok: null, fial: look}"
    )

    assert lines_of(text) == ["3: error FR113: unknown outcome `fial`; did you mean `fail`?"]


def test_one_equals_sign_suggests_two() -> None:
    (line,) = lines_of(
        with_step("actions: [A.], rules: [{if: visit = 2, outcome: ok}, {outcome: ok}], next: {ok: null}")
    )

    assert line.endswith("write `==` to compare: `visit == 2`")


def test_an_unquoted_colon_is_explained() -> None:
    text = "name: dull\ndescription: Look: and say\n"

    assert lines_of(text) == [
        "2: error FR100: a second `: ` in one line (column 18); put the value in quotes, or indent the key below"
    ]


def test_the_remedy_of_an_unknown_key_names_keys_of_its_part_or_the_part_that_has_it() -> None:
    parts = "reports: {size: {typ: integer}}, order: [], actions: [A.], next: {ok: null}"

    found = lines_of(f"commands: {{}}\n{with_step(parts)}")

    assert [line.partition("; ")[2] for line in found] == [
        "move it into a step, where it belongs",
        "did you mean `type`?",
        "move it to the top of the file, where it belongs",
    ]


def test_duplicate_keys_and_numbers_that_json_cannot_hold_are_listed_with_the_rest() -> None:
    text = f"name: dull\n{with_step('actions: [A.], limit: .nan, yes: 1, next: {ok: null}')}"

    assert [line.partition(";")[0] for line in lines_of(text)] == [
        "2: error FR131: duplicate key `name` (first in line 1)",
        "4: error FR130: `.nan` is not a finite number",
        "4: error FR130: `yes` of step `look` is an unknown key",
    ]


def test_a_misspelt_step_id_is_one_finding() -> None:
    text = """\
name: dull
steps:
  - {id: look, title: Look, actions: [Look.], next: {ok: formulate, fail: formulate}}
  - {id: formulat, title: Formulate, actions: [Write.], next: {ok: last}}
  - {id: last, title: Last, actions: [Say it.], gate: {name: G, review: formulate}, next: {ok: null, fail: formulate}}
"""

    (finding,) = parsed(text).findings

    assert (finding.code, str(finding.place)) == ("FR102", "workflow.yaml:3")
    assert finding.message == ("step `look` leads to unknown step `formulate`, as 2 other transitions do")
    assert finding.remedy == "did you mean `formulat`?"


@given(PLAIN_DATA)
def test_any_file_content_is_read_or_has_findings(data: object) -> None:
    result = parsed(json.dumps(data))

    assert all(finding.severity == "error" for finding in result.findings)
    assert result.findings


KEYS = ("id", "title", "next", "when", "limit", "rules", "reports", "variants", "actions", "text", "phase")
PARTS = st.one_of(
    PLAIN_DATA,
    st.sampled_from(["look", "visit > 1", None, 0, 3, {"ok": None}, {"ok": "look", "fail": 1}, [], [{}], {}]),
    st.lists(
        st.dictionaries(
            st.sampled_from(["if", "outcome", "when", "text", "actions"]), PLAIN_DATA, max_size=3
        ),
        max_size=2,
    ),
    st.dictionaries(
        st.sampled_from(["x", "visit"]),
        st.dictionaries(
            st.sampled_from(["type", "choices", "default", "min", "max", "example"]), PLAIN_DATA, max_size=3
        ),
        max_size=2,
    ),
)
STEPS = st.lists(st.dictionaries(st.sampled_from(KEYS), PARTS), max_size=3)


@given(STEPS, st.dictionaries(st.sampled_from(["entry", "params", "description", "name"]), PARTS))
def test_any_steps_are_read_or_have_findings(steps: list[Any], head: dict[str, Any]) -> None:
    data = {"name": "dull", **head, "steps": steps}

    parsed(json.dumps(data))
