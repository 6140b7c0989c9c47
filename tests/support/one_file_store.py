"""A kind of store that flowrail does not have: all records of all sessions and handoffs in one file.

`BACKENDS["lines"]` with `SCHEME` is all that flowrail needs to use it, at addresses like `lines://records.jsonl`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flowrail.storage.backend import Scheme
from flowrail.storage.lock import locked
from flowrail.storage.record_store import HeldLines, Kind, Lines, Stamp

SCHEME = Scheme(__name__, "lines://records.jsonl")


class OneFileLines(Lines):
    """The lines of all sessions, or of all handoffs, in the file *path*."""

    def __init__(self, path: str, kind: Kind[Any]) -> None:
        self.path = path
        self.kind = kind

    def place(self, key: str) -> str:
        return f"lines://{self.path}#{key}"

    def stamps(self, labels: Mapping[str, Collection[str]], since: str) -> dict[str, Stamp]:
        return {key: (len(lines), sum(map(len, lines))) for key, lines in self._all().items()}

    def exists(self, key: str) -> bool:
        return key in self._all()

    def create(self, key: str, lines: Sequence[bytes], newest: Any) -> None:
        if self.exists(key):
            raise self.kind.exists_already(key)
        self._add(key, *lines)

    def lines(self, key: str) -> Iterator[bytes]:
        if not self.exists(key):
            raise self.kind.unknown(key, self.ids)
        yield from self._all()[key]

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldLines]:
        newest = self.newest(key)
        with locked(f"{self.path}.{self.kind.noun}.{key}", wait=wait, what=key):
            newest = self.newest(key)
            size = sum(map(len, self._all()[key]))
            yield HeldLines(newest, size, 0, lambda line, _: self._add(key, line))

    def delete(self, key: str) -> None:
        self._add(key)

    def _add(self, key: str, *lines: bytes) -> None:
        """Append lines of *key*; no line means that all are deleted."""
        entry = {"kind": self.kind.noun, "id": key, "lines": [line.decode() for line in lines]}
        with open(self.path, "ab") as file:
            file.write(json.dumps(entry).encode() + b"\n")

    def _all(self) -> dict[str, list[bytes]]:
        """Return the lines of each id."""
        found: dict[str, list[bytes]] = {}
        for text in Path(self.path).read_bytes().splitlines() if os.path.exists(self.path) else ():
            entry = json.loads(text)
            if entry["kind"] == self.kind.noun:
                lines = found.pop(entry["id"], [])
                if entry["lines"]:
                    found[entry["id"]] = [*lines, *(line.encode() for line in entry["lines"])]
        return found


class OneFileBackend:
    """The store in the file at *address*, with the files of its sessions in *folder*."""

    is_folder = False
    has_password = False
    fleet_database = ""

    def __init__(self, address: str, cwd: str, folder: str, _owner: object) -> None:
        self.path = os.path.join(cwd, address.partition("://")[2])
        self.shown = f"lines://{self.path}"
        self.folder = folder

    def init(self) -> None:
        Path(self.path).touch()

    def lines(self, kind: Kind[Any]) -> OneFileLines:
        return OneFileLines(self.path, kind)


open_backend = OneFileBackend
