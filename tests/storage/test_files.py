"""Files are read up to a limit, written whole or not at all, and kept private."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.refusals import refused

from flowrail.storage.files import (
    WriteFailedError,
    make_private_dir,
    write_atomic,
)


def failing(number: int) -> Callable[..., int]:
    """Return a system call that answers with the error *number*."""

    def call(*arguments: object, **options: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- reading


# --- writing


@pytest.mark.parametrize(
    ("target", "name", "hint"),
    [
        ("missing/a", "ENOENT", "create the directory first"),
        ("file/a", "ENOTDIR", "a file is in the way: choose another path"),
        ("folder", "EISDIR", "choose a file, not a directory"),
    ],
)
def test_an_impossible_write_says_why(tmp_path: Path, target: str, name: str, hint: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    with pytest.raises(WriteFailedError) as caught:
        write_atomic(tmp_path / target, b"new")

    assert str(caught.value.hint) == hint
    assert caught.value.details == {"errno": name, "path": str(tmp_path / target)}
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    (tmp_path / "a").write_bytes(b"old")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(number))
        with pytest.raises(WriteFailedError, match=errno.errorcode[number]):
            write_atomic(tmp_path / "a", b"new")

    assert contents(tmp_path) == {"a": b"old"}


# --- directories


@pytest.mark.parametrize("end", ["", "/"])
def test_a_link_to_a_directory_is_not_private(tmp_path: Path, end: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with refused("DIRECTORY_NOT_PRIVATE", match="is not a directory"):
        make_private_dir(f"{tmp_path / 'link'}{end}")


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    with refused("DIRECTORY_NOT_PRIVATE", match="belongs to another user"):
        make_private_dir(tmp_path)
