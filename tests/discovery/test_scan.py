"""From locations to the skills that lie there."""

from pathlib import Path

import pytest
from support.skills import head, put

from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan.scan import ScanResult, scan, visit


def root_at(path: Path, scope: Scope = Scope.PROJECT) -> Root:
    status = path.stat()
    return Root(str(path), scope, "cwd", identity=(status.st_dev, status.st_ino))


def scanned(*paths: Path) -> ScanResult:
    return scan([root_at(path) for path in paths])


def names(result: ScanResult) -> list[str]:
    return [skill.skill for skill in result.skills]


def codes(result: ScanResult) -> dict[str, str]:
    return {skipped.skill: skipped.code for skipped in result.skipped}


def test_what_is_no_skill_is_passed_over_with_its_reason(tree: Path) -> None:
    put(tree, ".hidden")
    put(tree, "grouped/inner")
    (tree / "empty").mkdir()
    for name in ("loose.md", "SKILL.md", "README.md", "notes.txt", ".hidden.md"):
        (tree / name).write_text("x")

    result = scanned(tree)

    assert names(result) == []
    assert codes(result) == {
        ".hidden": "HIDDEN_FOLDER",
        "grouped": "NO_SKILL_FILE",
        "empty": "NO_SKILL_FILE",
        "loose.md": "NOT_A_FOLDER",
        "SKILL.md": "NOT_A_FOLDER",
    }
    assert not any(skipped.is_skill for skipped in result.skipped)


def test_a_skill_file_in_another_case_is_read_with_a_note(tree: Path) -> None:
    put(tree, "lower", file="skill.md")
    put(tree, "mixed", file="Skill.MD")
    if (tree / "lower/SKILL.md").exists():
        pytest.skip("this file system does not tell the cases apart")

    result = scanned(tree)

    assert names(result) == ["lower", "mixed"]
    assert [skill.reading.notes[0].code for skill in result.skills] == ["LOWER_CASE_FILE"] * 2
    assert result.skills[0].path.endswith("lower/skill.md")


def test_links_are_followed_once_and_a_folder_is_known_by_its_own_name(tree: Path) -> None:
    put(tree, "real")
    put(tree / "elsewhere", "outside")
    (tree / "alias").symlink_to("real")
    (tree / "linked").symlink_to(tree / "elsewhere/outside")

    result = scanned(tree)

    assert names(result) == ["real", "linked"]
    assert codes(result) == {"alias": "SAME_FOLDER", "elsewhere": "NO_SKILL_FILE"}


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

    readings = {skill.skill: skill.reading for skill in scanned(tree).skills}

    assert readings["large"].problem is None
    assert readings["late"].declared["version"] == "2"
    assert readings["dashes"].declared["version"] == "3"
    assert [note.code for note in (readings["endless"].problem,) if note] == ["UNCLOSED_FRONTMATTER"]


def test_a_file_named_from_outside_is_visited(tree: Path) -> None:
    path = put(tree, "elsewhere")

    (tree / "empty").mkdir()

    result = visit([str(path), str(tree / "gone/SKILL.md"), str(tree / "empty/README.md")])

    assert [(skill.skill, skill.root.scope) for skill in result.skills] == [("elsewhere", Scope.REGISTRY)]
    assert codes(result) == {"gone": "DANGLING_LINK", "empty": "NO_SKILL_FILE"}
