"""What a frontmatter declares about taking over work, in both dialects."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan.declaration import (
    Reading,
    read_metadata,
)
from flowrail.discovery.scan.eligibility import judge
from flowrail.discovery.scan.frontmatter import read_frontmatter
from flowrail.discovery.scan.scan import ScannedSkill

V2 = """\
handoff:
  accepts_handoff: true
  handoff_categories: [research, analysis]
  handoff_description: "Brief description"
  handoff_trigger: "--handoff {payload_path}"
  protocol_version: "2.0"
  health_check: "skill-name --health"
  requires:
    - context.original_prompt
  optional_consumes:
    - insights.uncertainties
"""
V3 = """\
handoff:
  accepts_from: ["*"]
  provides_to: [senior-developer]
  schema_version: "3.0"
  schema_type: universal
categories: [implementation, architecture]
input_requirements: [specification]
output_types: [code]
meta:
  estimated_duration: hours
  complexity: high
  autonomous: false
"""


def reading(lines: str, *, name: str = "a-skill", description: str = "Does things") -> Reading:
    text = f"---\nname: {name}\ndescription: {description}\n{lines}---\n"
    return read_metadata(read_frontmatter(text.encode(), "SKILL.md"), "SKILL.md")


def verdict(lines: str, *, description: str = "Does things") -> Candidate | Skipped:
    root = Root("/skills", Scope.GLOBAL, "home")
    file = reading(lines, description=description)
    return judge(ScannedSkill("a-skill", "/skills/a-skill/SKILL.md", root, file))


def candidate(lines: str) -> Candidate:
    judged = verdict(lines)
    assert isinstance(judged, Candidate)
    return judged


def codes(lines: str) -> set[str]:
    return {note.code for note in candidate(lines).notes}


def test_the_older_dialect_is_read() -> None:
    result = candidate(V2)

    assert result.categories == ("research", "analysis")
    assert result.description == "Brief description"
    assert result.trigger == "--handoff {payload_path}"
    assert result.protocol_version == result.schema_version == "2.0"
    assert result.health_check == "skill-name --health"
    assert result.requires == ("context.original_prompt",)
    assert result.optional_consumes == ("insights.uncertainties",)
    assert result.accepts_from == ("*",)
    assert result.dialect == "v2"
    assert codes(V2) == set()


def test_the_newer_dialect_is_read() -> None:
    result = candidate(V3)

    assert result.categories == ("implementation", "architecture")
    assert result.provides_to == ("senior-developer",)
    assert (result.schema_version, result.schema_type) == ("3.0", "universal")
    assert result.input_requirements == ("specification",)
    assert result.output_types == ("code",)
    assert (result.duration, result.complexity, result.autonomous) == ("hours", "high", False)
    assert result.description == "Does things"
    assert result.dialect == "v3"
    assert result.notes == ()


def test_where_both_dialects_speak_the_newer_wins_field_by_field() -> None:
    both = V3.replace("  schema_type: universal\n", "") + "x: y\n"
    block = "".join(f"{line}\n" for line in V2.splitlines()[1:])

    result = candidate(both.replace('  accepts_from: ["*"]\n', f'  accepts_from: ["*"]\n{block}'))

    assert result.dialect == "v2+v3"
    assert result.categories == ("implementation", "architecture")
    assert result.schema_version == "3.0"
    assert result.trigger == "--handoff {payload_path}"
    assert result.description == "Brief description"
    assert [note.code for note in result.notes] == ["DIALECTS_DISAGREE", "DIALECTS_DISAGREE"]


def test_every_field_says_where_it_was_read() -> None:
    assert candidate(V2).origins == {
        "name": "name",
        "summary": "description",
        "accepts_from": "handoff.accepts_handoff",
        "categories": "handoff.handoff_categories",
        "description": "handoff.handoff_description",
        "trigger": "handoff.handoff_trigger",
        "schema_version": "handoff.protocol_version",
        "requires": "handoff.requires",
        "optional_consumes": "handoff.optional_consumes",
        "health_check": "handoff.health_check",
    }
    assert candidate(V3).origins["description"] == "description"
    assert candidate(V3).origins["trigger"] == "default"
    assert candidate(V3).origins["duration"] == "meta.estimated_duration"


MINIMAL = "handoff:\n  accepts_handoff: true\n  handoff_categories: [research]\n"


def test_what_is_optional_has_its_default() -> None:
    result = candidate(f"{MINIMAL}  health_check: null\n  handoff_trigger: ''\n")

    assert result.trigger == "{payload_path}"
    assert result.protocol_version == "2.0"
    assert result.health_check is None
    assert result.requires == ()
    assert result.optional_consumes == ()
    assert result.description == "Does things"
    assert codes(MINIMAL) == {"DESCRIPTION_BORROWED"}


@pytest.mark.parametrize(
    "block",
    [
        "metadata:\n  handoff: |\n    accepts_handoff: true\n    handoff_categories: [research]\n",
        'metadata:\n  handoff: "{accepts_handoff: true, handoff_categories: [research]}"\n',
        'metadata:\n  handoff: "accepts_handoff: true"\n  categories: "[research]"\n',
        "metadata:\n  handoff:\n    accepts_from: ['*']\n    categories: [research]\n",
    ],
)
def test_the_block_may_stand_under_metadata(block: str) -> None:
    result = candidate(block)

    assert result.categories == ("research",)
    assert result.origins["accepts_from"].startswith("metadata.handoff.")


@pytest.mark.parametrize("value", ["[a, b]", "true", ""])
def test_a_handoff_that_is_no_mapping_is_told_and_passed_over(value: str) -> None:
    result = verdict(f"handoff: {value}\n")

    assert isinstance(result, Skipped)
    assert (result.code, result.line) == ("NO_HANDOFF", 0)
    assert [(note.code, note.line) for note in result.notes] == [("HANDOFF_NOT_MAPPING", 4)]
    assert candidate(f"handoff: {value}\nmetadata:\n  {MINIMAL.replace(chr(10), chr(10) + '  ')}\n").skill


@pytest.mark.parametrize(
    ("block", "code", "categories"),
    [
        ("handoff:\n  accepts_handoff: true\n  handoff_categories: research\n", "NOT_A_LIST", ("research",)),
        (
            "handoff:\n  accepts_handoff: true\n  handoff_categories: [a, a, '', {b: c}]\n",
            "INVALID_FIELD",
            ("a",),
        ),
        (
            "handoff:\n  accepts_handoff: true\n  handoff_categories: \"[a, 'b',, c\"\n",
            "NOT_A_LIST",
            ("a", "b", "c"),
        ),
        ("handoff:\n  accepts_handoff: yes\n  handoff_categories: [a]\n", "LOOSE_BOOLEAN", ("a",)),
        ("handoff:\n  accepts_from: true\ncategories: [a]\n", "NOT_A_LIST", ("a",)),
        ("handoff:\n  accepts_from: ['*']\n  accept_handoff: true\ncategories: [a]\n", "UNKNOWN_KEY", ("a",)),
        ("handoff:\n  accepts_from: ['*']\n  health_check: [a]\ncategories: [a]\n", "INVALID_FIELD", ("a",)),
        (
            "handoff:\n  accepts_from: ['*']\n  handoff_trigger: go\ncategories: [a]\n",
            "TRIGGER_WITHOUT_PAYLOAD",
            ("a",),
        ),
        (
            "handoff:\n  accepts_from: ['*']\n  handoff_trigger: '{payload_path} | sh'\ncategories: [a]\n",
            "TRIGGER_NOT_PLAIN",
            ("a",),
        ),
        (
            "handoff:\n  accepts_from: ['*']\n  accepts_handoff: false\ncategories: [a]\n",
            "DIALECTS_DISAGREE",
            ("a",),
        ),
        (
            "handoff:\n  accepts_from: [x]\n  accepts_handoff: true\ncategories: [a]\n",
            "VERSION_ASSUMED",
            ("a",),
        ),
    ],
)
def test_what_is_loosely_written_is_read_and_told(block: str, code: str, categories: tuple[str, ...]) -> None:
    result = candidate(block)

    assert result.categories == categories
    assert code in {note.code for note in result.notes}


def test_a_name_unlike_the_folder_is_told_and_the_folder_counts() -> None:
    root = Root("/skills", Scope.GLOBAL, "home")
    file = reading(MINIMAL, name="Other Name")

    result = judge(ScannedSkill("a-skill", "/skills/a-skill/SKILL.md", root, file))

    assert (result.skill, result.name) == ("a-skill", "Other Name")
    assert "NAME_DIFFERS" in {note.code for note in result.notes}


KNOWN = st.sampled_from(
    [
        *(
            "name",
            "description",
            "handoff",
            "metadata",
            "meta",
            "categories",
            "input_requirements",
            "output_types",
        ),
        *("accepts_handoff", "accepts_from", "handoff_categories", "handoff_description", "handoff_trigger"),
        *("protocol_version", "schema_version", "schema_type", "requires", "health_check", "provides_to"),
        *("estimated_duration", "autonomous", "version", "other"),
    ]
)
TEXTS = st.sampled_from(
    ["", "x", "true", "no", "*", "null", "[a, b]", "{payload_path}", "accepts_from: ['*']", "3.0"]
)
ANYTHING = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KNOWN, inner, max_size=6),
    max_leaves=12,
)


@given(st.dictionaries(KNOWN, ANYTHING, max_size=8), st.dictionaries(KNOWN, ANYTHING, max_size=8))
def test_whatever_is_declared_has_one_of_two_outcomes(
    document: dict[str, Any], block: dict[str, Any]
) -> None:
    text = yaml.safe_dump({**document, "handoff": block})
    file = read_metadata(read_frontmatter(f"---\n{text}---\n".encode(), "SKILL.md"), "SKILL.md")

    result = judge(
        ScannedSkill("a-skill", "/skills/a-skill/SKILL.md", Root("/skills", Scope.GLOBAL, "home"), file)
    )

    json.dumps(result.data())
    if isinstance(result, Candidate):
        assert result.categories
        assert result.description
        assert result.accepts_from
    else:
        assert result.code in {
            "DECLINES_HANDOFFS",
            "INVALID_ACCEPTANCE",
            "NOT_ACCEPTING",
            "NO_CATEGORIES",
            "NO_DESCRIPTION",
            "UNSUPPORTED_VERSION",
        }
        assert result.reason
