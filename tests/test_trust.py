"""What may run is what a person allowed, to the byte."""

from __future__ import annotations

import os
import shlex
import subprocess
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
def test_every_change_takes_trust_away_and_is_named(folder: Path, state: str, what: str) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")
    approval.require(str(folder), state, skill="a-skill", why="is code")

    CHANGES[what](folder)

    with pytest.raises(TrustError) as caught:
        approval.require(str(folder), state, skill="a-skill", why="is code")
    assert caught.value.message == f"skill `a-skill` is code, and it changed since it was allowed: {what}"
    assert str(caught.value.hint) == "a person types: flow skill trust a-skill"
    assert caught.value.details["digest"] == approval.snapshot(str(folder)).digest


def test_what_a_run_of_tests_left_in_the_folder_is_named_as_what_to_take_away(
    folder: Path, state: str
) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")
    left = folder / "te sts" / "__pycache__" / "test_x.cpython-311.pyc"
    left.parent.mkdir(parents=True)
    left.touch()

    with pytest.raises(TrustError) as caught:
        approval.require(str(folder), state, skill="a-skill", why="is code", instead="or this")

    clear = f"rm -r '{folder}/te sts/__pycache__'"
    assert str(caught.value.hint) == (
        f"a person types: flow skill trust a-skill; or take away what a run of Python left: {clear}; or this"
    )
    subprocess.run(shlex.split(clear), check=True)
    approval.require(str(folder), state, skill="a-skill", why="is code")

    left.parent.mkdir()
    left.touch()
    (folder / "added.txt").touch()
    with pytest.raises(TrustError) as caught:
        approval.require(str(folder), state, skill="a-skill", why="is code")
    assert str(caught.value.hint) == "a person types: flow skill trust a-skill"


def test_what_nobody_allowed_is_refused(folder: Path, state: str) -> None:
    with pytest.raises(TrustError, match="is code, and nobody allowed it") as caught:
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


def test_the_same_content_elsewhere_is_not_allowed_with_it(folder: Path, state: str, tmp_path: Path) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")
    other = tmp_path / "other"
    folder.rename(other)

    with pytest.raises(TrustError, match="nobody allowed it"):
        approval.require(str(other), state, skill="a-skill", why="is code")


def test_a_folder_behind_a_link_is_known_by_its_real_path(folder: Path, state: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)

    approval.allow(approval.snapshot(str(link)), state, at="now")

    assert approval.require(str(folder), state, skill="a-skill", why="").folder == str(folder)
    assert approval.allowance(str(link), state) == approval.allowance(str(folder), state)


def test_what_was_allowed_can_be_taken_back(folder: Path, state: str) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")

    assert approval.forget(str(folder), state)
    assert not approval.forget(str(folder), state)
    with pytest.raises(TrustError):
        approval.require(str(folder), state, skill="a-skill", why="")


def link(skill: Path) -> None:
    (skill / "odd").symlink_to("workflow.py")


def linked_folder(skill: Path) -> None:
    (skill / "odd").symlink_to("steps")


def pipe(skill: Path) -> None:
    os.mkfifo(skill / "odd")


def as_its_owner(skill: Path) -> None:
    (skill / "odd").write_text("x")
    (skill / "odd").chmod(0o4644)


def as_its_group(skill: Path) -> None:
    (skill / "odd").write_text("x")
    (skill / "odd").chmod(0o2755)


@pytest.mark.parametrize("make", [link, linked_folder, pipe, as_its_owner, as_its_group])
def test_a_folder_with_odd_things_in_it_cannot_be_vouched_for(
    folder: Path, make: Callable[[Path], None]
) -> None:
    make(folder)

    with pytest.raises(TrustError, match=r"holds `odd`, which (is no plain file|runs as its owner or group)"):
        approval.snapshot(str(folder))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("MOST_FILES", "holds more than 1 files"), ("LARGEST_FOLDER", "holds more than 1 bytes")],
)
def test_a_folder_that_is_too_large_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: str
) -> None:
    monkeypatch.setattr(approval, limit, 1)

    with pytest.raises(TrustError, match=expected):
        approval.snapshot(str(folder))


def test_a_folder_with_paths_too_long_to_be_kept_is_refused_and_not_forgotten(
    folder: Path, state: str
) -> None:
    now = approval.snapshot(str(folder))
    paths = {f"{'d/' * 1_500}{number}": "-" for number in range(1_500)}

    with pytest.raises(TrustError, match="holds paths of more than 4194304 bytes together"):
        approval.allow(now._replace(files=paths), state, at="now")

    assert not Path(state, "trust").exists()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrustError, match=r"has a part that cannot be read: \. "):
        approval.snapshot(str(tmp_path / "none"))


@pytest.mark.parametrize(
    "content", ["", "[]", "3", "{}", '{"folder": 1, "digest": 2, "files": 3, "at": 4}', "[" * 9999]
)
def test_a_spoilt_allowance_allows_nothing(folder: Path, state: str, content: str) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")
    (kept,) = Path(state, "trust").iterdir()
    kept.write_text(content)

    assert approval.allowance(str(folder), state) is None
    with pytest.raises(TrustError, match="nobody allowed it"):
        approval.require(str(folder), state, skill="a-skill", why="is code")


def test_what_was_allowed_is_kept_for_its_user_only(folder: Path, state: str) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")

    (kept,) = Path(state, "trust").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    allowance = approval.allowance(str(folder), state)
    assert allowance
    assert (allowance.at, list(allowance.files)) == ("now", ["steps/first.md", "workflow.py"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_what_another_user_may_have_written_allows_nothing(folder: Path, state: str) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")

    os.chown(Path(state, "trust"), 12345, -1)

    assert approval.allowance(str(folder), state) is None


def test_a_link_for_the_folder_of_allowances_allows_nothing(folder: Path, state: str, tmp_path: Path) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")

    Path(state, "trust").rename(tmp_path / "elsewhere")
    Path(state, "trust").symlink_to(tmp_path / "elsewhere")

    assert approval.allowance(str(folder), state) is None


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
def test_what_became_a_link_is_named(
    folder: Path, state: str, change: Callable[[Path], None], named: str
) -> None:
    approval.allow(approval.snapshot(str(folder)), state, at="now")

    change(folder)

    with pytest.raises(TrustError, match=f"holds `{named}`, which is no plain file"):
        approval.require(str(folder), state, skill="a-skill", why="is code")


def test_names_that_are_no_text_have_a_digest(folder: Path, state: str) -> None:
    (Path(os.fsdecode(os.fsencode(folder) + b"/odd\xff"))).touch()

    approval.allow(approval.snapshot(str(folder)), state, at="now")

    approval.require(str(folder), state, skill="a-skill", why="")
