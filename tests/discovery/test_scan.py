"""From locations to the skills that lie there."""

from pathlib import Path

import pytest
from support.skills import head, put

from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan.scan import ScanResult, scan, visit


def root_at(path: Path, scope: Scope = Scope.PROJECT) -> Root:
    about = path.stat()
    return Root(str(path), scope, "cwd", identity=(about.st_dev, about.st_ino))


def scanned(*paths: Path) -> ScanResult:
    return scan([root_at(path) for path in paths])


def names(found: ScanResult) -> list[str]:
    return [each.skill for each in found.skills]


def codes(found: ScanResult) -> dict[str, str]:
    return {each.skill: each.code for each in found.skipped}


def test_what_is_no_skill_is_passed_over_with_its_reason(tree: Path) -> None:
    put(tree, ".hidden")
    put(tree, "grouped/inner")
    (tree / "empty").mkdir()
    for name in ("loose.md", "SKILL.md", "README.md", "notes.txt", ".hidden.md"):
        (tree / name).write_text("x")

    found = scanned(tree)

    assert names(found) == []
    assert codes(found) == {
        ".hidden": "HIDDEN_FOLDER",
        "grouped": "NO_SKILL_FILE",
        "empty": "NO_SKILL_FILE",
        "loose.md": "NOT_A_FOLDER",
        "SKILL.md": "NOT_A_FOLDER",
    }
    assert not any(each.is_skill for each in found.skipped)


def test_a_skill_file_in_another_case_is_read_with_a_note(tree: Path) -> None:
    put(tree, "lower", file="skill.md")
    put(tree, "mixed", file="Skill.MD")
    if (tree / "lower/SKILL.md").exists():
        pytest.skip("this file system does not tell the cases apart")

    found = scanned(tree)

    assert names(found) == ["lower", "mixed"]
    assert [each.reading.notes[0].code for each in found.skills] == ["LOWER_CASE_FILE"] * 2
    assert found.skills[0].path.endswith("lower/skill.md")


def test_links_are_followed_once_and_a_folder_is_known_by_its_own_name(tree: Path) -> None:
    put(tree, "real")
    put(tree / "elsewhere", "outside")
    (tree / "alias").symlink_to("real")
    (tree / "linked").symlink_to(tree / "elsewhere/outside")

    found = scanned(tree)

    assert names(found) == ["real", "linked"]
    assert codes(found) == {"alias": "SAME_FOLDER", "elsewhere": "NO_SKILL_FILE"}


def test_links_that_lead_nowhere_or_back_are_told(tree: Path) -> None:
    (tree / "gone").symlink_to("nothing")
    (tree / "loop").symlink_to("loop")
    (tree / "up").symlink_to(".")
    (tree / "file").symlink_to("/dev/null")
    (tree / "dead").mkdir()
    (tree / "dead/SKILL.md").symlink_to("nothing")
    (tree / "round").mkdir()
    (tree / "round/SKILL.md").symlink_to("SKILL.md")
    (tree / "long").mkdir()
    (tree / "long/SKILL.md").symlink_to("x" * 300)

    assert codes(scanned(tree)) == {
        "gone": "DANGLING_LINK",
        "loop": "LINK_LOOP",
        "up": "SAME_FOLDER",
        "dead": "DANGLING_LINK",
        "round": "LINK_LOOP",
        "long": "UNREADABLE",
    }


def test_only_the_head_of_a_large_file_is_read(tree: Path) -> None:
    put(tree, "large", head("large") + "x" * 1_000_000)
    put(tree, "late", f"---\nname: late\n# {'x' * 20_000}\nlicense: MIT\nversion: 2\n---\n")
    put(tree, "dashes", f"---\nname: dashes\n# a rule:\n----: x\n# {'x' * 20_000}\nversion: 3\n---\n")
    put(tree, "endless", "---\nname: endless\n" + "x" * 1_000_000)

    found = {each.skill: each.reading for each in scanned(tree).skills}

    assert found["large"].problem is None
    assert found["late"].declared["version"] == "2"
    assert found["dashes"].declared["version"] == "3"
    assert [note.code for note in (found["endless"].problem,) if note] == ["UNCLOSED_FRONTMATTER"]


def test_a_file_named_from_outside_is_visited(tree: Path) -> None:
    path = put(tree, "elsewhere")

    (tree / "empty").mkdir()

    found = visit([str(path), str(tree / "gone/SKILL.md"), str(tree / "empty/README.md")])

    assert [(each.skill, each.root.scope) for each in found.skills] == [("elsewhere", Scope.REGISTRY)]
    assert codes(found) == {"gone": "DANGLING_LINK", "empty": "NO_SKILL_FILE"}
