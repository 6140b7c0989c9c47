"""A mark names the author of a record. It holds for one user, one location, one session and one text."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flowrail.errors import DocumentError
from flowrail.storage.user_mark import KEY_BYTES, Owner, user_key


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(str(tmp_path / "state"))


def test_a_mark_holds_for_its_user_path_session_and_text_only(tmp_path: Path, owner: Owner) -> None:
    folder = str(tmp_path / "sessions" / "x-abcdef")
    mark = owner.mark(folder, b"text")

    assert owner.owns(folder, b"text", mark)
    assert not owner.owns(folder, b"other", mark)
    assert not owner.owns(folder.replace("abcdef", "abcdeg"), b"text", mark)
    assert not owner.owns(str(tmp_path / "clone" / "x-abcdef"), b"text", mark)
    assert not Owner(str(tmp_path / "another")).owns(folder, b"text", mark)
    assert not owner.owns(folder, b"text", "")


def test_a_key_is_made_once_by_many_processes_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "flowrail"

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(user_key, [str(folder)] * 16))

    assert [len(key) for key in keys] == [KEY_BYTES]
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"not hexadecimal", b"\xff\xfe", b"0" * 63, b"0" * 999])
def test_a_file_that_is_not_a_key_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)

    with pytest.raises(DocumentError):
        user_key(str(tmp_path))

    assert (tmp_path / "key").read_bytes() == content
