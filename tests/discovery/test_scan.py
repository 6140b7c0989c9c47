"""From locations to the skills in them."""

from pathlib import Path

from support.skills import put

from flowrail.discovery.candidate import Skipped
from flowrail.discovery.declaration import FoundSkill
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan import scan


def scanned(path: Path) -> tuple[list[FoundSkill], dict[str, str]]:
    """Return the skills in a folder, and why the others were left out."""
    results = [*scan([Root(str(path), Scope.PROJECT, "cwd")])]
    skipped = {result.skill: result.reason for result in results if isinstance(result, Skipped)}
    return [result for result in results if isinstance(result, FoundSkill)], skipped


def test_links_are_followed_once_and_a_folder_is_known_by_its_own_name(tree: Path) -> None:
    put(tree, "real")
    put(tree / "elsewhere", "outside")
    (tree / "alias").symlink_to("real")
    (tree / "linked").symlink_to(tree / "elsewhere/outside")

    skills, skipped = scanned(tree)

    assert [skill.skill for skill in skills] == ["real", "linked"]
    assert skipped["alias"] == f"it is the same folder as {tree / 'real'}"
