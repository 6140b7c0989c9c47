"""What differs on macOS, as far as another system can show it."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from flowrail.storage import macos


def test_a_volume_without_full_flush_relies_on_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(fd: int, command: int) -> int:
        asked.append(command)
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    fd = os.open(tmp_path / "file", os.O_CREAT | os.O_WRONLY)
    macos.flush_drive(fd)
    os.close(fd)

    assert asked == [getattr(fcntl, "F_FULLFSYNC", 51)]


def test_a_drive_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int, command: int) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "fcntl", fail)
    fd = os.open(tmp_path / "file", os.O_CREAT | os.O_WRONLY)
    with pytest.raises(OSError, match="Input/output error"):
        macos.flush_drive(fd)
    os.close(fd)
