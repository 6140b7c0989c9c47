"""What a frontmatter declares about taking over work, in both dialects."""

from dataclasses import fields
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from flowrail.discovery.candidate import Candidate, LeftOut, Skipped
from flowrail.discovery.declaration import FoundSkill, HandoffBlock, read_declaration
from flowrail.discovery.frontmatter import read_frontmatter
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan import judge

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


def verdict(lines: str, *, name: str = "a-skill") -> Candidate | Skipped:
    text = f"---\nname: {name}\ndescription: Does things\n{lines}---\n"
    declaration = read_declaration(read_frontmatter(text.encode(), "SKILL.md"))
    root = Root("/skills", Scope.GLOBAL, "home")
    return judge(FoundSkill("a-skill", "/skills/a-skill/SKILL.md", root, declaration))


def candidate(lines: str) -> Candidate:
    judged = verdict(lines)
    assert isinstance(judged, Candidate)
    return judged


def test_the_older_dialect_is_read() -> None:
    result = candidate(V2)

    assert result.categories == ("research", "analysis")
    assert result.description == "Brief description"
    assert result.trigger == "--handoff {payload_path}"
    assert result.schema_version == "2.0"
    assert result.health_check == "skill-name --health"
    assert result.requires == ("context.original_prompt",)
    assert result.optional_consumes == ("insights.uncertainties",)
    assert result.accepts_from == ("*",)


def test_the_newer_dialect_is_read() -> None:
    result = candidate(V3)

    assert result.categories == ("implementation", "architecture")
    assert result.provides_to == ("senior-developer",)
    assert (result.schema_version, result.schema_type) == ("3.0", "universal")
    assert result.input_requirements == ("specification",)
    assert result.output_types == ("code",)
    assert (result.duration, result.complexity, result.autonomous) == ("hours", "high", False)
    assert result.description == "Does things"


KNOWN = st.sampled_from(
    [field.name for field in fields(HandoffBlock)] + ["handoff", "metadata", "name", "other"]
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
    declaration = read_declaration(read_frontmatter(f"---\n{text}---\n".encode(), "SKILL.md"))
    root = Root("/skills", Scope.GLOBAL, "home")

    result = judge(FoundSkill("a-skill", "/skills/a-skill/SKILL.md", root, declaration))

    if isinstance(result, Candidate):
        assert result.categories
        assert result.description
        assert result.accepts_from
    else:
        assert result.kind not in {LeftOut.HIDDEN, LeftOut.NO_SKILL}
        assert result.reason
