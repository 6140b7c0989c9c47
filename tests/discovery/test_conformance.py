"""How far a SKILL.md keeps to the open skill specification."""

import pytest

from flowrail.discovery.scan.frontmatter import read_frontmatter
from flowrail.discovery.scan.spec import check


def problems(inside: str, folder: str = "pdf-processing") -> list[tuple[str, int]]:
    front = read_frontmatter(f"---\n{inside}---\n".encode(), "SKILL.md")
    return [(note.code, note.line) for note in check(front, folder=folder, file="SKILL.md")]


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("PDF-Processing", ["SPEC_NAME_CHARACTERS", "SPEC_NAME_FOLDER"]),
        ("-pdf", ["SPEC_NAME_CHARACTERS", "SPEC_NAME_FOLDER"]),
        ("pdf--processing", ["SPEC_NAME_CHARACTERS", "SPEC_NAME_FOLDER"]),
        ("pdf_processing", ["SPEC_NAME_CHARACTERS", "SPEC_NAME_FOLDER"]),
        ("other", ["SPEC_NAME_FOLDER"]),
        ("a" * 65, ["SPEC_NAME_LENGTH", "SPEC_NAME_FOLDER"]),
        ("[a]", ["SPEC_NAME_MISSING"]),
        ("' '", ["SPEC_NAME_MISSING"]),
    ],
)
def test_names_have_their_rules(name: str, codes: list[str]) -> None:
    assert problems(f"name: {name}\ndescription: x\n") == [(code, 2) for code in codes]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("description: ''", "SPEC_DESCRIPTION_MISSING"),
        ("description: [a]", "SPEC_DESCRIPTION_MISSING"),
        ("description: 'TODO: say it'", "SPEC_DESCRIPTION_TODO"),
        (f"description: {'a' * 1025}", "SPEC_DESCRIPTION_LENGTH"),
        ("description: x\nlicense: [MIT]", "SPEC_LICENSE"),
        ("description: x\ncompatibility:", "SPEC_COMPATIBILITY"),
        (f"description: x\ncompatibility: {'a' * 501}", "SPEC_COMPATIBILITY"),
        ("description: x\nmetadata: text", "SPEC_METADATA"),
        ("description: x\nmetadata: {a: {b: c}}", "SPEC_METADATA"),
        ("description: x\nallowed-tools: [Read, Bash]", "SPEC_ALLOWED_TOOLS"),
        ("description: x\nmodel: fast", "SPEC_UNKNOWN_FIELD"),
    ],
)
def test_every_departure_has_its_code_and_line(line: str, code: str) -> None:
    assert problems(f"name: pdf-processing\n{line}\n") == [(code, 3 + line.count("\n"))]


def test_handoff_metadata_is_not_reported_and_unknown_fields_are_reported_once() -> None:
    keys = (
        "handoff: {a: b}\ncategories: [a]\ninput_requirements: [a]\noutput_types: [a]\nmeta: {}\nversion: 1"
    )

    assert problems(f"name: pdf-processing\ndescription: x\n{keys}\nmodel: fast\nmode: y\n") == [
        ("SPEC_UNKNOWN_FIELD", 10)
    ]
