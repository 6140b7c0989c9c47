"""Things that stand where a file is expected and are none, or none that can be read."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

HUGE = 3 * 1024**3


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may have some hundred bytes only
    try:
        with socket.socket(socket.AF_UNIX) as each:
            each.bind(path.name)
    finally:
        os.chdir(here)


def _loop(path: Path) -> None:
    other = path.with_name(f"{path.name}.other")
    path.symlink_to(other.name)
    other.symlink_to(path.name)


def _outside(path: Path) -> None:
    secret = Path(os.environ["HOME"]) / "secret.txt"
    secret.write_text("name: SECRET\nhandoff: SECRET\n")
    path.symlink_to(secret)


def _unreadable(path: Path) -> None:
    path.write_text("name: x\n")
    path.chmod(0)


def _full(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("x")


ODD: Mapping[str, Callable[[Path], None]] = {
    "a directory": lambda path: path.mkdir(),
    "a directory with a file": _full,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "three gigabytes of nothing": _sparse,
    "a link to zeros": lambda path: path.symlink_to("/dev/zero"),
    "a link to the terminal": lambda path: path.symlink_to("/dev/tty"),
    "a link to standard input": lambda path: path.symlink_to("/dev/stdin"),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a loop of links": _loop,
    "a link to a directory": lambda path: path.symlink_to("/"),
    "a link above": lambda path: path.symlink_to(".."),
    "a link out of the folder": _outside,
    "a link to memory": lambda path: path.symlink_to("/proc/self/mem"),
    "an empty file": lambda path: path.touch(),
    "a file nobody may read": _unreadable,
}
"""What is put there, by its name; each is given the path, which is free."""
