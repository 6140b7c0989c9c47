"""Long texts of a record, kept in files beside the journal; the record holds where, and their digest.

In memory a session is whole: rules, handlers and guidance see every text. On disk a text above the
bound lies in ``texts/<its digest>.txt``, written once, before the record that names it, and never
changed; so each record stays small however often it repeats the text.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError
from flowrail.machines.sessions import limits
from flowrail.storage import files as storage_files

FOLDER = "texts"
MARK = "$file"
_NAMED, _LIKE = {MARK, "bytes"}, {MARK, "value"}
_NAME = re.compile(rf"{FOLDER}/([0-9a-f]{{64}})\.txt\Z")

Load = Callable[[str, int], str]
"""From the name of a file and its size to the text in it."""


class TextDamagedError(StorageError):
    """A long text of a session is not what was written."""

    code = "TEXT_DAMAGED"


def parted(value: Any, beside: dict[str, bytes]) -> Any:
    """Return plain data with its long texts replaced by references, which *beside* collects."""
    if isinstance(value, str):
        return value if is_short(value) else _apart(value, beside)
    if isinstance(value, Mapping):
        plain = {key: parted(item, beside) for key, item in value.items()}
        return {MARK: None, "value": plain} if MARK in plain else plain
    if isinstance(value, (list, tuple)):
        return [parted(item, beside) for item in value]
    return value


def joined(value: Any, load: Load) -> Any:
    """Return what `parted` was given, every text loaded again; `ValueError` where it never gave that."""
    if isinstance(value, dict):
        if MARK not in value:
            return {key: joined(item, load) for key, item in value.items()}
        name, inner, size = value[MARK], value.get("value"), value.get("bytes")
        if name is None and type(inner) is dict and value.keys() == _LIKE:
            return {key: joined(item, load) for key, item in inner.items()}
        if type(name) is not str or type(size) is not int or value.keys() != _NAMED:
            raise ValueError("what names a long text is of another form")
        return load(name, size)
    if isinstance(value, list):
        return [joined(item, load) for item in value]
    return value


def names_in(value: Any) -> list[tuple[str, int]]:
    """Return every file that a record's plain data names, with its size."""
    found: list[tuple[str, int]] = []

    def take(name: str, size: int) -> str:
        found.append((name, size))
        return ""

    joined(value, take)
    return found


def excess(named: Iterable[tuple[str, int]]) -> int:
    """Return how many bytes all texts that a record names would have, where those are too many; else 0."""
    every = list(named)
    told, files = (sum(max(0, size) for _, size in each) for each in (every, set(every)))
    return told if files > limits.LARGEST_TEXTS or told > limits.LARGEST_WHOLE else 0


def keep(folder: str, beside: Mapping[str, bytes]) -> list[str]:
    """Write the texts of a record into a session's *folder*, durably, and return the files that are new."""
    total = sum(map(len, beside.values()))
    if total > limits.LARGEST_TEXTS:
        raise limits.too_long_together(total)
    new: list[str] = []
    try:
        for name, data in beside.items():
            path = os.path.join(folder, name)
            size = _size(path)
            if size != len(data):
                storage_files.make_private_dir(os.path.dirname(path))
                new += [path] if size < 0 else []
                storage_files.write_atomic(path, data)
    except BaseException:
        take_back(new)
        raise
    return new


def take_back(paths: Iterable[str]) -> None:
    """Remove texts whose record was not written."""
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def loader(folder: str) -> Load:
    """Return how the texts of the session in *folder* are loaded: each is what was written, or refused.

    Records name the same texts again and again, so as many as one record may have are read once.
    """
    known: dict[tuple[str, int], str] = {}
    room = limits.LARGEST_TEXTS

    def load(name: str, size: int) -> str:
        nonlocal room
        if (name, size) not in known:
            text = _read(folder, name, size)
            if size > room:
                known.clear()
                room = limits.LARGEST_TEXTS
            known[name, size] = text
            room -= size
        return known[name, size]

    return load


def _read(folder: str, name: str, size: int) -> str:
    path = os.path.join(folder, name)
    found = _NAME.match(name)
    try:
        data = (
            storage_files.read_bounded(path, limit=max(0, size), what="a text of the session")
            if found
            else b""
        )
    except DocumentError as error:
        raise _damaged(path, error.fact) from None
    if found is None or len(data) != size or hashlib.sha256(data).hexdigest() != found.group(1):
        raise _damaged(path, "is not as it was written" if found else "is no text of a session")
    return data.decode("utf-8", "surrogatepass")


def is_short(text: str) -> bool:
    """Return whether *text* stands in the record itself."""
    if 4 * len(text) <= limits.LONGEST_INLINE:
        return True
    return len(text.encode("utf-8", "surrogatepass")) <= limits.LONGEST_INLINE


def _apart(text: str, beside: dict[str, bytes]) -> dict[str, Any]:
    data = text.encode("utf-8", "surrogatepass")
    name = f"{FOLDER}/{hashlib.sha256(data).hexdigest()}.txt"
    beside[name] = data
    return {MARK: name, "bytes": len(data)}


def _size(path: str) -> int:
    """Return the size of what stands at *path*, -1 where nothing does."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return -1


def _damaged(path: str, what: str) -> TextDamagedError:
    return TextDamagedError(
        f"{path}: {what.removeprefix('a text of the session ')}",
        hint=Hint(
            "restore the file from a copy, or continue from before it was reported: ",
            Command("fork", "ID", at="REVISION"),
        ),
        place=path,
    )
