"""A whole machine: repository, submodule, worktree, linked root and home, with every kind of defect."""

import codecs
import os
from pathlib import Path

import pytest
from support.skills import ACCEPTING, git, head, put, repository

from flowrail.discovery.index import Discovery, discover

V3 = 'handoff: {accepts_from: ["*"], schema_version: "3.0"}\ncategories: [research]\n'
TABBED = "handoff:\n\taccepts_from: ['*']\n\tschema_version: 3\ncategories: [a]"
BELOW = 'metadata: {handoff: "accepts_from: [x]", categories: a}'
LOOSE = "handoff: {accepts_handoff: on, handoff_categories: a}"
SILENT = V3.replace("{", "{handoff_trigger: go, ")
STRAY = f"---\nstray line\nname: stray\ndescription: a: b\n{V3}---\n"
LOOSELY = {"NOT_A_LIST", "LOOSE_BOOLEAN", "LEGACY_DIALECT", "DESCRIPTION_BORROWED"}

#: What each skill in home holds, and all that is told of it: the code that keeps it out, or none, then notes.
DEFECTS: dict[str, tuple[str | bytes, str, set[str]]] = {
    "in-order": (head("in-order", V3), "", set()),
    "legacy": (head("legacy", ACCEPTING), "", {"LEGACY_DIALECT"}),
    "carriage-returns": (head("carriage-returns", V3).replace("\n", "\r\n"), "", set()),
    "old-mac": (head("old-mac", V3).replace("\n", "\r"), "", set()),
    "byte-order-mark": (codecs.BOM_UTF8 + head("byte-order-mark", V3).encode(), "", {"BYTE_ORDER_MARK"}),
    "utf-16": (codecs.BOM_UTF16_LE + head("utf-16", V3).encode("utf-16-le"), "NO_FRONTMATTER", set()),
    "latin-1": (head("latin-1", V3, description="caf\xe9").encode("latin-1"), "", {"NOT_UTF8"}),
    "nul": (head("nul", V3, description="a\0b"), "INVALID_FRONTMATTER", set()),
    "surrogates": (head("surrogates", V3, description='"\\ud83d\\ude80"'), "INVALID_FRONTMATTER", set()),
    "lone-surrogate": (head("lone-surrogate", V3).encode() + b"\xed\xa0\x80", "", set()),
    "tabs": (head("tabs", TABBED), "INVALID_FRONTMATTER", set()),
    "unquoted": (head("unquoted", V3, description="Use it: always"), "", {"NOT_QUOTED"}),
    "brackets": (head("brackets", V3, "argument-hint: [file] [mode]"), "INVALID_FRONTMATTER", set()),
    "dates": (head("dates", V3, "updated: 2024-01-01", "on: yes", "version: 1.10"), "", set()),
    "twice": (head("twice", V3, "name: other"), "INVALID_FRONTMATTER", set()),
    "anchor": (head("anchor", V3, "extra: &a b"), "INVALID_FRONTMATTER", set()),
    "tag": (head("tag", V3, "extra: !!python/object:os.system {}"), "INVALID_FRONTMATTER", set()),
    "merge": (head("merge", V3, "extra: {<<: {a: b}}"), "INVALID_FRONTMATTER", set()),
    "stray": (STRAY, "INVALID_FRONTMATTER", set()),
    "late": ("\n\n" + head("late", V3), "", {"LATE_FRONTMATTER"}),
    "unclosed": (f"---\nname: unclosed\ndescription: x\n{V3}\n# Title\n", "UNCLOSED_FRONTMATTER", set()),
    "huge": (head("huge", V3) + "x" * 3_000_000, "", set()),
    "endless": (f"---\nname: endless\ndescription: x\n{V3}# {'x' * 70_000}\n", "UNCLOSED_FRONTMATTER", set()),
    "other-name": (head("Some Name", V3), "", {"NAME_DIFFERS"}),
    "handoff-text": (head("handoff-text", "handoff: yes please"), "NO_HANDOFF", {"HANDOFF_NOT_MAPPING"}),
    "handoff-list": (head("handoff-list", "handoff: [a]"), "NO_HANDOFF", {"HANDOFF_NOT_MAPPING"}),
    "under-metadata": (head("under-metadata", BELOW), "", {"NOT_A_LIST", "VERSION_ASSUMED"}),
    "plain": (head("plain"), "NO_HANDOFF", set()),
    "refuses": (head("refuses", "handoff: {accepts_handoff: false}"), "DECLINES_HANDOFFS", set()),
    "no-categories": (head("no-categories", "handoff: {accepts_handoff: true}"), "NO_CATEGORIES", set()),
    "no-description": (f"---\nname: no-description\n{V3}---\n", "NO_DESCRIPTION", set()),
    "category-text": (head("category-text", LOOSE), "", LOOSELY),
    "future": (head("future", V3.replace('"3.0"', '"9.0"')), "", {"UNKNOWN_VERSION"}),
    "misspelt": (head("misspelt", V3.replace("{", "{accept_from: [x], ")), "", {"UNKNOWN_KEY"}),
    "no-payload": (head("no-payload", SILENT), "", {"TRIGGER_WITHOUT_PAYLOAD"}),
    "empty": ("", "NO_FRONTMATTER", set()),
    "prose": ("# Just a text\n", "NO_FRONTMATTER", set()),
    "list": ("---\n- a\n- b\n---\n", "INVALID_FRONTMATTER", set()),
    "binary": (bytes(range(256)) * 40, "NO_FRONTMATTER", set()),
}  # fmt: skip


class World:
    """A home, a repository with a submodule, a worktree of it, and a project whose root is a link."""

    def __init__(self, tree: Path) -> None:
        self.home = tree / "home"
        self.skills = self.home / ".claude/skills"
        for name, (text, _, _) in DEFECTS.items():
            put(self.skills, name, text)
        self._links_and_odd_files()
        self.outer, inner = repository(tree / "outer"), repository(tree / "inner")
        git(self.outer, "submodule", "add", "-q", str(inner), "libs/inner")
        git(self.outer, "commit", "-qm", "submodule")
        git(self.outer, "worktree", "add", "-q", str(tree / "worktree"))
        self.submodule, self.worktree = self.outer / "libs/inner", tree / "worktree"
        put(self.outer / ".claude/skills", "of-outer")
        put(self.outer / "libs/.agents/skills", "of-libs")
        put(self.submodule / ".claude/skills", "of-submodule")
        put(self.submodule / ".claude/skills", "legacy", head("legacy"))
        put(self.worktree / ".claude/skills", "of-worktree")
        self.linked = tree / "linked"
        self.linked.mkdir()
        (self.linked / ".claude").symlink_to(self.outer / ".claude")

    def _links_and_odd_files(self) -> None:
        put(self.skills, "lower", head("lower", V3), file="skill.md")
        put(self.skills, ".hidden")
        put(self.skills, "group/inside")
        put(self.home / "store", "stored", head("stored", V3))
        (self.skills / "stored").symlink_to(self.home / "store/stored")
        (self.skills / "alias").symlink_to("in-order")
        (self.skills / "gone").symlink_to("nothing")
        (self.skills / "loop").symlink_to("loop")
        (self.skills / "up").symlink_to("..")
        (self.skills / "loose.md").write_text("x")
        (self.skills / "pipe").mkdir()
        os.mkfifo(self.skills / "pipe/SKILL.md")
        (self.home / ".agents/skills").mkdir(parents=True)
        (self.home / ".agents/skills/in-order").symlink_to(self.skills / "in-order")

    def seen_from(self, cwd: Path) -> Discovery:
        return discover(str(cwd), str(self.home), {})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_told_and_costs_no_more_than_it_must(world: World, name: str) -> None:
    _, code, notes = DEFECTS[name]
    found = world.seen_from(world.home)
    candidates = [each for each in found.candidates if each.skill == name]
    skipped = [each for each in found.skipped if each.path.startswith(f"{world.skills}/{name}/")]

    assert ([each.code for each in skipped], len(candidates)) == (([code], 0) if code else ([], 1))
    told = (candidates or skipped)[0]
    assert {note.code for note in told.notes} == notes
    assert all(note.hint and note.file == told.path for note in told.notes)


def test_everything_that_lies_there_is_accounted_for(world: World) -> None:
    found = world.seen_from(world.home)

    odd = {each.skill: each.code for each in found.skipped if each.skill not in DEFECTS}
    assert odd == {
        ".hidden": "HIDDEN_FOLDER",
        "group": "NO_SKILL_FILE",
        "alias": "SAME_FOLDER",
        "gone": "DANGLING_LINK",
        "loop": "LINK_LOOP",
        "up": "NO_SKILL_FILE",
        "loose.md": "NOT_A_FOLDER",
        "pipe": "NOT_A_FILE",
    }
    assert {each.skill for each in found.candidates} - set(DEFECTS) == {"lower", "stored"}
    assert found.skills == len(DEFECTS) + 3
    assert [each.code for each in found.skipped if each.skill == "in-order"] == ["SAME_FOLDER"]


def near(found: Discovery) -> list[tuple[str, str]]:
    return [(each.skill, each.scope.value) for each in found.candidates if each.scope.value != "global"]


def test_from_inside_the_submodule_the_outer_repository_is_seen(world: World) -> None:
    found = world.seen_from(world.submodule)

    assert near(found) == [("of-libs", "project"), ("of-submodule", "project"), ("of-outer", "git-root")]
    assert found.places.superproject == str(world.outer)
    assert [note.code for note in found.notes] == ["HIDES_ELIGIBLE", "CLIENT_PREFERS_PERSONAL"]
    assert [each.skill for each in found.hidden] == ["legacy"]
