"""A folder may run if exactly its content was approved."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flowrail import approval
from flowrail.errors import TrustError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skill = tmp_path / "skills" / "a-skill"
    (skill / "steps").mkdir(parents=True)
    (skill / "workflow.py").write_text("WORKFLOW = 1\n")
    (skill / "steps" / "first.md").write_text("Do it.\n")
    return skill


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def rename(skill: Path) -> None:
    (skill / "steps" / "first.md").rename(skill / "steps" / "last.md")


CHANGES: dict[str, Callable[[Path], object]] = {
    "steps/first.md (changed)": lambda skill: (skill / "steps" / "first.md").write_text("Do it!\n"),
    "workflow.py (changed)": lambda skill: (skill / "workflow.py").chmod(0o755),
    "added.txt (new)": lambda skill: (skill / "added.txt").touch(),
    "steps/.hidden (new)": lambda skill: (skill / "steps" / ".hidden").touch(),
    "workflow.py (gone)": lambda skill: (skill / "workflow.py").unlink(),
    "steps/first.md (gone), steps/last.md (new)": rename,
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_ends_the_approval_and_is_named(folder: Path, state: str, what: str) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")
    approval.require(str(folder), state, skill="a-skill", why="is code")

    CHANGES[what](folder)

    with pytest.raises(TrustError) as caught:
        approval.require(str(folder), state, skill="a-skill", why="is code")
    assert caught.value.message == f"skill `a-skill` is code, and it changed since it was approved: {what}"
    assert str(caught.value.hint) == "a person runs: flow skill trust a-skill"
    assert caught.value.details["digest"] == approval.snapshot(str(folder)).digest


def test_a_folder_without_approval_is_refused(folder: Path, state: str) -> None:
    with pytest.raises(TrustError, match="is code and has not been approved") as caught:
        approval.require(str(folder), state, skill="a-skill", why="is code")

    assert caught.value.exit_status == 7
    assert not os.path.exists(state)


def test_times_owners_and_empty_folders_do_not_count(folder: Path) -> None:
    before = approval.snapshot(str(folder)).digest

    os.utime(folder / "workflow.py", (1, 1))
    (folder / "workflow.py").chmod(0o640)
    (folder / "empty").mkdir()

    assert approval.snapshot(str(folder)).digest == before


def test_a_snapshot_holds_the_very_bytes_of_its_digest(folder: Path) -> None:
    now = approval.snapshot(str(folder))

    (folder / "workflow.py").write_text("something else")

    assert now.contents == {"steps/first.md": b"Do it.\n", "workflow.py": b"WORKFLOW = 1\n"}
    assert list(now.files) == ["steps/first.md", "workflow.py"]


def test_a_snapshot_that_keeps_nothing_has_the_same_digest(folder: Path) -> None:
    whole, bare = approval.snapshot(str(folder)), approval.snapshot(str(folder), keep=False)

    assert bare == whole._replace(contents={})
    assert approval.sizes(str(folder)) == {path: len(data) for path, data in whole.contents.items()}


def test_bytes_cannot_move_from_one_file_to_another_unseen(tmp_path: Path) -> None:
    digests = set()
    for number, (first, second) in enumerate([("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", "")]):
        skill = tmp_path / str(number)
        skill.mkdir()
        (skill / "1").write_text(first)
        (skill / "2").write_text(second)
        digests.add(approval.snapshot(str(skill)).digest)

    assert len(digests) == 4


def test_the_same_content_elsewhere_is_not_approved(folder: Path, state: str, tmp_path: Path) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")
    other = tmp_path / "other"
    folder.rename(other)

    with pytest.raises(TrustError, match="has not been approved"):
        approval.require(str(other), state, skill="a-skill", why="is code")


def test_a_folder_behind_a_link_is_known_by_its_real_path(folder: Path, state: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)

    approval.approve(approval.snapshot(str(link)), state, at="now")

    assert approval.require(str(folder), state, skill="a-skill", why="").folder == str(folder)
    assert approval.approval_of(str(link), state) == approval.approval_of(str(folder), state)


def test_an_approval_can_be_revoked(folder: Path, state: str) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")

    assert approval.revoke(str(folder), state)
    assert not approval.revoke(str(folder), state)
    with pytest.raises(TrustError):
        approval.require(str(folder), state, skill="a-skill", why="")


def link(skill: Path) -> None:
    (skill / "odd").symlink_to("workflow.py")


def linked_folder(skill: Path) -> None:
    (skill / "odd").symlink_to("steps")


def pipe(skill: Path) -> None:
    os.mkfifo(skill / "odd")


@pytest.mark.parametrize("make", [link, linked_folder, pipe])
def test_a_folder_with_links_or_devices_cannot_be_approved(
    folder: Path, make: Callable[[Path], None]
) -> None:
    make(folder)

    with pytest.raises(TrustError, match="contains `odd`, which is not a regular file"):
        approval.snapshot(str(folder))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("MOST_FILES", "contains more than 1 files"), ("LARGEST_FOLDER", "contains more than 1 bytes")],
)
def test_a_folder_that_is_too_large_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: str
) -> None:
    monkeypatch.setattr(approval, limit, 1)

    with pytest.raises(TrustError, match=expected):
        approval.snapshot(str(folder))


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrustError, match=r"cannot be read: \. "):
        approval.snapshot(str(tmp_path / "none"))


@pytest.mark.parametrize(
    "content", ["", "[]", "3", "{}", '{"folder": 1, "digest": 2, "files": 3, "at": 4}', "[" * 9999]
)
def test_a_damaged_approval_counts_as_none(folder: Path, state: str, content: str) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")
    (kept,) = Path(state, "trust").iterdir()
    kept.write_text(content)

    assert approval.approval_of(str(folder), state) is None
    with pytest.raises(TrustError, match="has not been approved"):
        approval.require(str(folder), state, skill="a-skill", why="is code")


def test_an_approval_is_private(folder: Path, state: str) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")

    (kept,) = Path(state, "trust").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    allowance = approval.approval_of(str(folder), state)
    assert allowance
    assert (allowance.at, list(allowance.files)) == ("now", ["steps/first.md", "workflow.py"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_an_approval_that_another_user_may_have_written_counts_as_none(folder: Path, state: str) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")

    os.chown(Path(state, "trust"), 12345, -1)

    assert approval.approval_of(str(folder), state) is None


def test_approvals_behind_a_link_count_as_none(folder: Path, state: str, tmp_path: Path) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")

    Path(state, "trust").rename(tmp_path / "elsewhere")
    Path(state, "trust").symlink_to(tmp_path / "elsewhere")

    assert approval.approval_of(str(folder), state) is None


def link_in(skill: Path) -> None:
    (skill / "steps" / "first.md").unlink()
    (skill / "steps" / "first.md").symlink_to("../workflow.py")


def folder_becomes_a_link(skill: Path) -> None:
    (skill / "steps").rename(skill.parent / "elsewhere")
    (skill / "steps").symlink_to(skill.parent / "elsewhere")


@pytest.mark.parametrize(
    ("change", "named"),
    [(link_in, "steps/first.md"), (folder_becomes_a_link, "steps"), (link, "odd"), (pipe, "odd")],
)
def test_a_file_that_became_a_link_is_named(
    folder: Path, state: str, change: Callable[[Path], None], named: str
) -> None:
    approval.approve(approval.snapshot(str(folder)), state, at="now")

    change(folder)

    with pytest.raises(TrustError, match=f"contains `{named}`, which is not a regular file"):
        approval.require(str(folder), state, skill="a-skill", why="is code")


def test_a_file_name_that_is_not_utf_8_has_a_digest(folder: Path, state: str) -> None:
    (Path(os.fsdecode(os.fsencode(folder) + b"/odd\xff"))).touch()

    approval.approve(approval.snapshot(str(folder)), state, at="now")

    approval.require(str(folder), state, skill="a-skill", why="")
