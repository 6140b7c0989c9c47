"""One key a user, outside every project; and what they took over."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flowrail.errors import DocumentError, StorageError
from flowrail.machines.sessions.user_key import (
    KEY_BYTES,
    Owner,
    state_folder,
    user_key,
)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "/home/u/.local/state/flowrail"),
        ({"XDG_STATE_HOME": "/state"}, "/state/flowrail"),
        ({"XDG_STATE_HOME": "relative"}, "/home/u/.local/state/flowrail"),
        ({"XDG_STATE_HOME": ""}, "/home/u/.local/state/flowrail"),
    ],
)
def test_state_lies_where_the_system_says(environ: dict[str, str], expected: str) -> None:
    assert state_folder(environ, "/home/u") == expected


def test_a_key_is_made_once_and_for_its_user_only(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "flowrail"

    key = user_key(str(folder))

    assert len(key) == KEY_BYTES
    assert user_key(str(folder)) == key
    assert os.listdir(folder) == ["key"]
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_each_user_has_a_key_of_their_own(tmp_path: Path) -> None:
    assert user_key(str(tmp_path / "a")) != user_key(str(tmp_path / "b"))


def test_makers_who_race_agree_on_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = iter(range(1, 100))
    monkeypatch.setattr(os, "getpid", lambda: next(pids))  # as if they were processes

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(user_key, [str(tmp_path / "state")] * 16))

    assert len(keys) == 1
    assert os.listdir(tmp_path / "state") == ["key"]


def test_an_owner_reads_its_key_once(tmp_path: Path) -> None:
    owner = Owner(str(tmp_path / "state"))

    key = owner.key()
    (tmp_path / "state" / "key").unlink()

    assert owner.key() == key


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"ab", b"no hex at all", b"\xff\xfe", b"0" * 63, b"0" * 66, b"0" * 999]
)
def test_a_file_that_is_no_key_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)

    with pytest.raises(DocumentError) as caught:
        user_key(str(tmp_path))

    assert str(caught.value.hint)
    assert (tmp_path / "key").read_bytes() == content


def test_a_linked_key_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("00" * KEY_BYTES)
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DocumentError):
        user_key(str(tmp_path))


def test_a_key_that_cannot_be_put_in_its_place_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)

    with pytest.raises(StorageError, match="could not be made"):
        user_key(str(tmp_path / "state"))
    assert os.listdir(tmp_path / "state") == []


def test_what_was_adopted_is_that_and_nothing_else(tmp_path: Path) -> None:
    owner = Owner(str(tmp_path / "state"))

    owner.adopt("a" * 64)
    owner.adopt("a" * 64)

    assert owner.adopted("a" * 64)
    assert not owner.adopted("b" * 64)
    assert not Owner(str(tmp_path / "other")).adopted("a" * 64)
