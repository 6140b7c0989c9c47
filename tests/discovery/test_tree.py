"""A tree of fifty skills in both dialects, some broken, some hidden, with the expected results written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowrail.discovery.candidate import LeftOut
from flowrail.discovery.index import Discovery, discover

PROJECT, PARENT, ROOT, HOME, AGENTS = "project", "parent", "git-root", "home", "home-agents"
V2 = "handoff:\n  accepts_handoff: true\n  handoff_categories: [research]\n  handoff_description: x\n"
V3 = 'handoff: {accepts_from: ["*"], schema_version: "3.0"}\ncategories: [implementation]\n'
IN_METADATA = 'metadata:\n  handoff: "{accepts_handoff: true, handoff_categories: [analysis], handoff_description: x}"\n'
NESTED = "metadata:\n  handoff: |\n    accepts_from: [friend]\n    schema_version: '2.0'\n  categories: [a]\n"

SKILLS: list[tuple[str, str, str, str]] = [
    # project: the folder where one is
    (PROJECT, "p-v2", V2, "project 2.0 research"),
    (PROJECT, "p-v3", V3, "project 3.0 implementation"),
    (PROJECT, "p-both", V2 + "categories: [analysis]\n", "project 3.0 analysis"),
    (PROJECT, "p-metadata", IN_METADATA, "project 2.0 analysis"),
    (PROJECT, "p-nested", NESTED, "project 2.0 a"),
    (PROJECT, "p-text-category", V2.replace("[research]", "research"), "project 2.0 research"),
    (PROJECT, "p-true-as-text", V2.replace("true", "'yes'"), "project 2.0 research"),
    (PROJECT, "p-from-true", V3.replace('["*"]', "true"), "project 3.0 implementation"),
    (PROJECT, "p-no-version", V3.replace(', schema_version: "3.0"', ""), "project 3.0 implementation"),
    (PROJECT, "p-v3-2.0", V3.replace("3.0", "2.0"), "project 2.0 implementation"),
    (PROJECT, "p-old", V3.replace("3.0", "1.2"), "unsupported"),
    (PROJECT, "p-v1", V2 + "  protocol_version: '1.0'\n", "unsupported"),
    (PROJECT, "p-future", V3.replace("3.0", "4.0"), "unsupported"),
    (PROJECT, "p-plain", "", "plain"),
    (PROJECT, "p-empty-block", "handoff: {}\n", "plain"),
    (PROJECT, "p-provides", "handoff: {provides_to: [x]}\n", "plain"),
    (PROJECT, "p-declines", V2.replace("true", "false"), "declines"),
    (PROJECT, "p-declines-v3", "handoff: {accepts_from: []}\ncategories: [a]\n", "declines"),
    (PROJECT, "p-one", V2.replace("true", "1"), "project 2.0 research"),
    (PROJECT, "p-maybe", V2.replace("true", "maybe"), "malformed"),
    (PROJECT, "p-mapping", "handoff: {accepts_from: {a: b}}\ncategories: [a]\n", "malformed"),
    (PROJECT, "p-no-category", "handoff: {accepts_handoff: true}\n", "malformed"),
    (PROJECT, "p-empty-category", V2.replace("[research]", "[]"), "malformed"),
    (PROJECT, "p-broken-block", "metadata:\n  handoff: '{accepts_handoff: true'\n", "malformed"),
    (PROJECT, "p-broken", "handoff: {a: [b}\n", "malformed"),
    (PROJECT, "p-tabs", "handoff:\n\taccepts_handoff: true\n", "malformed"),
    (PROJECT, "p-twice", "handoff: {}\nhandoff: {}\n", "malformed"),
    (PROJECT, "p-anchor", "handoff: &a {accepts_handoff: true}\n", "malformed"),
    (PROJECT, "shared", V2, "project 2.0 research"),
    (PROJECT, "hider", "", "plain"),
    (PROJECT, ".hidden", V2, ""),
    # the folder between the project and the git root counts as the project
    (PARENT, "m-v2", V2, "project 2.0 research"),
    (PARENT, "m-v3", V3, "project 3.0 implementation"),
    (PARENT, "m-declines", "handoff: {accepts_handoff: false}\n", "declines"),
    (PARENT, "shared", V3, ""),
    # the git root
    (ROOT, "r-v2", V2, "git-root 2.0 research"),
    (ROOT, "r-v3", V3, "git-root 3.0 implementation"),
    (ROOT, "r-metadata", IN_METADATA, "git-root 2.0 analysis"),
    (ROOT, "r-broken", "handoff: [\n", "malformed"),
    (ROOT, "shared", V3, ""),
    # home
    (HOME, "h-v2", V2, "global 2.0 research"),
    (HOME, "h-v3", V3, "global 3.0 implementation"),
    (HOME, "h-nested", NESTED, "global 2.0 a"),
    (HOME, "h-plain", "", "plain"),
    (HOME, "shared", V2, ""),
    (HOME, "hider", V2, ""),
    (HOME, "h-colon", "license: see: here\n" + V2, "global 2.0 research"),
    (AGENTS, "a-v2", V2, "global 2.0 research"),
    (AGENTS, "a-v3", V3, "global 3.0 implementation"),
    (AGENTS, "h-v2", V3, ""),
]
"""Where a skill is, its name and lines of frontmatter; then scope, version and first category, or why it was left out.

The result is empty if a nearer folder of the same name is used.
"""


@pytest.fixture
def discovery(tree: Path) -> Discovery:
    root, home = tree / "repository", tree / "home"
    folders = {
        PROJECT: root / "deep/project/.claude/skills",
        PARENT: root / "deep/.agents/skills",
        ROOT: root / ".claude/skills",
        HOME: home / ".claude/skills",
        AGENTS: home / ".agents/skills",
    }
    (root / ".git").mkdir(parents=True)
    for place, name, lines, _ in SKILLS:
        folder = folders[place] / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does things.\n{lines}---\n")
    return discover(str(root / "deep/project"), str(home), {})


def test_every_skill_of_the_tree_is_found_as_expected(discovery: Discovery) -> None:
    assert len(SKILLS) == 50
    results = {c.skill: f"{c.scope} {c.schema_version} {c.categories[0]}" for c in discovery.candidates}
    results |= {s.skill: s.kind.value for s in discovery.skipped if s.kind is not LeftOut.HIDDEN}

    assert results == {name: result for _, name, _, result in SKILLS if result}


def test_hidden_skills_are_listed_with_the_one_that_hides_them(discovery: Discovery) -> None:
    shadowed = sorted(
        (skill.skill, skill.scope.value) for skill in discovery.skipped if skill.kind is LeftOut.HIDDEN
    )

    assert shadowed == [
        ("h-v2", "global"),
        ("hider", "global"),
        ("shared", "git-root"),
        ("shared", "global"),
        ("shared", "project"),
    ]
