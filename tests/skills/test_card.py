"""How far a SKILL.md keeps to the open skill specification, and its handoff metadata."""

import pytest

from flowrail.discovery.frontmatter import read_frontmatter
from flowrail.skills.card import departures, handoff_findings


def issues(inside: str, folder: str = "pdf-processing") -> list[tuple[str, int]]:
    front = read_frontmatter(f"---\n{inside}---\n".encode(), "SKILL.md")
    return [(f"{issue.severity}: {issue.message}", issue.place.line) for issue in departures(front, folder)]


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("PDF-Processing", ["must match ^[a-z0-9]+", "the folder is"]),
        ("pdf--processing", ["must match ^[a-z0-9]+", "the folder is"]),
        ("other", ["the folder is"]),
        ("a" * 65, ["is longer than 64 characters", "the folder is"]),
        ("[a]", ["must be text"]),
    ],
)
def test_names_have_their_rules(name: str, reasons: list[str]) -> None:
    found = issues(f"name: {name}\ndescription: x\n")

    assert [line for _, line in found] == [2] * len(reasons)
    assert all(reason in text for (text, _), reason in zip(found, reasons, strict=True))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("description: ''", "error: `description` is empty"),
        ("description: [a]", "warning: `description` must be text"),
        ("description: 'TODO: say it'", "warning: the description is not written yet"),
        (f"description: {'a' * 1025}", "warning: `description` is longer than 1024 characters"),
        ("description: see: here", "warning: `description` has an unquoted `: ` in its text"),
        ("description: x\nlicense: [MIT]", "warning: `license` must be text"),
        (
            f"description: x\ncompatibility: {'a' * 501}",
            "warning: `compatibility` is longer than 500 characters",
        ),
        ("description: x\nmetadata: text", "warning: `metadata` must be a mapping"),
        ("description: x\nmetadata: {a: {b: c}}", "warning: `metadata.a` must be text"),
        ("description: x\nallowed-tools: [Read, Bash]", "warning: `allowed-tools` must be text"),
        ("description: x\nmodel: fast", "warning: `model` is not a known key"),
    ],
)
def test_every_departure_has_its_sentence_and_line(line: str, reason: str) -> None:
    assert issues(f"name: pdf-processing\n{line}\n") == [(reason, 3 + line.count("\n"))]


def test_a_file_without_a_name_or_description_is_wrong() -> None:
    assert [text for text, _ in issues("license: MIT\n")] == [
        "error: `name` is missing",
        "error: `description` is missing",
    ]


def test_handoff_metadata_is_not_reported() -> None:
    keys = (
        "handoff: {a: b}\ncategories: [a]\ninput_requirements: [a]\noutput_types: [a]\nmeta: {}\nversion: 1\n"
    )

    assert issues(f"name: pdf-processing\ndescription: x\n{keys}estimated_duration: hours\n") == []


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("", []),
        ("handoff: {accepts_handoff: false}\n", []),
        ("handoff: {accepts_from: [x], schema_version: '3.0'}\ncategories: [a]\n", []),
        (
            "handoff: {accepts_from: [x]}\ncategories: [a]\n",
            ["warning: no `schema_version`; 3.0 is assumed"],
        ),
        (
            "handoff: {accepts_handoff: true, handoff_categories: [a]}\n",
            ["warning: the menu shows the skill's `description`"],
        ),
        (
            "handoff: {accepts_handoff: true, handoff_categories: [a], handoff_description: b, handoff_trigger: go}\n",
            ["warning: the trigger `go` does not contain `{payload_path}`"],
        ),
        (
            "handoff: {accepts_from: [x], schema_version: '3.0', accept: y}\ncategories: [a]\n",
            ["warning: `handoff.accept` is not a key of handoff metadata"],
        ),
        (
            "handoff: {accepts_handoff: maybe}\n",
            ["error: `handoff.accepts_handoff` must be true or false"],
        ),
        (
            "handoff: {accepts_from: [x], schema_version: '1.2'}\ncategories: [a]\n",
            ["warning: it reads payload version 1.2, and flow writes 2.0 and 3.0"],
        ),
    ],
)
def test_handoff_metadata_is_checked_strictly(lines: str, found: list[str]) -> None:
    front = read_frontmatter(f"---\nname: a-skill\ndescription: x\n{lines}---\n".encode(), "SKILL.md")

    issues = [*handoff_findings(front, "a-skill")]

    assert [f"{issue.severity}: {issue.message}" for issue in issues] == found
    assert all(issue.place.line == 4 for issue in issues)
