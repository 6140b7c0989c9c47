"""Lines in files: a folder for each session or handoff, with its journal and its lock."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from flowrail.storage import files, journal
from flowrail.storage.journal import Journal
from flowrail.storage.lock import locked
from flowrail.storage.record_store import NO_LABELS, HeldLines, Kind, Lines, Stamp
from flowrail.storage.user_mark import Owner

JOURNAL, LOCK = "journal.jsonl", "lock"
_REMOVED = ".gone-"
"""The prefix of a folder that is being deleted."""
_LOCK_SECONDS = 10.0


class FileLines(Lines):
    """The journals of all sessions, or of all handoffs, below *path*."""

    def __init__(self, path: str, kind: Kind[Any], owner: Owner) -> None:
        self.path = path
        self.folders = os.path.join(path, f"{kind.noun}s")
        self.owner = owner
        self._kind = kind
        self._first: tuple[str, bytes] = ("", b"")
        """The first line of the journal that was read last, so that its definition is read with it."""
        self._is_private = False

    def folder(self, key: str) -> str:
        """Return the folder of a session or handoff. Only a valid id becomes a path."""
        if not self._kind.id_pattern.match(key):
            raise self._kind.unknown(key, list)
        return f"{self.folders}/{key}"

    def place(self, key: str) -> str:
        """Return the journal of a session or handoff."""
        return f"{self.folder(key)}/{JOURNAL}"

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return all ids, in order: folders have no index."""
        del labels, since
        self._check_private()
        with files.failing(self.folders, "cannot be listed"):
            try:
                names = os.listdir(self.folders)
            except FileNotFoundError:
                return []
        return sorted(name for name in names if self._kind.id_pattern.match(name))

    def stamps(self, labels: Mapping[str, Collection[str]], since: str) -> dict[str, Stamp]:
        """Return time and size of each journal, without reading it."""
        stamps: dict[str, Stamp] = {}
        for key in self.ids(labels, since):
            with suppress(OSError):  # its creation was interrupted, or it is being deleted
                status = os.stat(f"{self.folders}/{key}/{JOURNAL}")
                stamps[key] = (status.st_mtime_ns, status.st_size)
        return stamps

    def exists(self, key: str) -> bool:
        """Return whether an id is in use."""
        return os.path.lexists(f"{self.folders}/{key}")

    def create(self, key: str, lines: Sequence[bytes], newest: Any) -> None:
        """Store the first lines; the id must be new, or its creation was interrupted."""
        del newest
        folder = self.folder(key)
        prepare_folder(self.path, folder)
        with self._locked(key, _LOCK_SECONDS), journal.opened(self.place(key), journal.CREATE) as opened:
            if opened.last_line():
                raise self._kind.exists_already(key)
            opened.append(b"".join(lines))
            journal.flush_names(folder)

    def newest(self, key: str) -> bytes:
        """Return the newest line."""
        with self._opened(key) as (_, newest):
            return newest

    def line(self, key: str, seq: int) -> bytes:
        """Return the line with this number."""
        if seq == 0 and self._first[0] == key:
            return self._first[1]
        return super().line(key, seq)

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all lines, oldest first."""
        with self._opened(key) as (opened, _):
            yield from opened.lines()

    def lines_backwards(self, key: str) -> Iterator[bytes]:
        """Yield all lines, newest first."""
        with self._opened(key) as (opened, _):
            yield from opened.lines_backwards()

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldLines]:
        """Hold the lock and yield the lines.

        If nothing is added, the journal is flushed: the caller may repeat the answer to a record whose writer died.
        """
        with self._journal(key, journal.CHANGE) as opened, self._locked(key, wait):
            newest, size = self._newest(opened, key), opened.size
            yield HeldLines(newest, size, opened.torn, lambda text, _: opened.append(text))
            if opened.size == size:
                opened.flush()

    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its files: rename its folder in one step, then remove it."""
        folder = self.folder(key)
        aside = os.path.join(self.folders, f"{_REMOVED}{key}-{os.urandom(4).hex()}")
        with files.writing(folder, "could not be deleted"):
            os.rename(folder, aside)
            files.sync_dir(self.folders)
            remove_folder(aside)

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted."""
        with suppress(OSError):
            for name in files.list_names(self.folders):
                if name.startswith(_REMOVED):
                    remove_folder(os.path.join(self.folders, name))

    def _check_private(self) -> None:
        if not self._is_private:
            files.check_private_dir(self.path)
            files.check_private_dir(self.folders)
            self._is_private = True

    def _locked(self, key: str, wait: float) -> AbstractContextManager[int]:
        return locked(f"{self.folder(key)}/{LOCK}", wait=wait, what=f"{self._kind.noun} `{key}`")

    @contextmanager
    def _opened(self, key: str) -> Iterator[tuple[Journal, bytes]]:
        """Yield a journal, open for reading, and its newest line."""
        with self._journal(key, journal.READ) as opened:
            yield opened, self._newest(opened, key)

    def _journal(self, key: str, mode: int) -> Journal:
        place = self.place(key)
        self._check_private()
        try:
            return journal.opened(place, mode)
        except FileNotFoundError:
            # the id of an interrupted start is spelt correctly, so suggest no other
            raise self._kind.unknown(key, list if self.exists(key) else self.ids) from None

    def _newest(self, opened: Journal, key: str) -> bytes:
        newest = opened.last_line()
        if not newest:  # its creation was interrupted
            raise self._kind.unknown(key, list)
        self._first = (key, next(opened.lines()))
        return newest


class FileBackend:
    """The store in a folder."""

    is_folder = True
    has_password = False
    fleet_database = ""

    def __init__(self, folder: str, owner: Owner) -> None:
        self.shown = self.folder = folder
        self._owner = owner

    def init(self) -> None:
        """Do nothing: a folder is created with its first session."""

    def lines(self, kind: Kind[Any]) -> FileLines:
        """Return the lines of all sessions, or of all handoffs."""
        return FileLines(self.folder, kind, self._owner)


def open_backend(address: str, cwd: str, folder: str, owner: Owner) -> FileBackend:
    """Return the store at the path *address*, which may be relative to *cwd*."""
    del folder
    return FileBackend(os.path.abspath(os.path.join(cwd, address)), owner)


def prepare_folder(store: str, folder: str) -> None:
    """Make the *folder* of a session or handoff below *store*, private and ignored by git."""
    folders = os.path.dirname(folder)
    files.make_private_dir(store)
    files.make_private_dir(folders)
    own = os.path.basename(os.path.abspath(store)) == ".flow"  # any other folder may hold other files
    ignore = os.path.join(store if own else folders, ".gitignore")
    if not os.path.lexists(ignore):
        files.write_atomic(ignore, b"*\n")
    if not _has_journal(folders):  # the process that created them may have died before it flushed them
        files.sync_dir(store)
        files.sync_dir(os.path.dirname(os.path.abspath(store)))
    with files.writing(folder, "could not be created"), suppress(FileExistsError):
        os.mkdir(folder, 0o700)  # flushed with the names of its files
    files.check_private_dir(folder)


def _has_journal(folders: str) -> bool:
    """Return whether a session or handoff was created before: its folders were then flushed."""
    with suppress(PermissionError), os.scandir(folders) as entries:
        return any(os.path.lexists(f"{entry.path}/{JOURNAL}") for entry in entries)
    return False


def remove_folder(path: str) -> None:
    """Delete a folder with everything in it; a link is deleted, not followed."""
    import shutil  # 1.5 ms with its compressors, and most commands delete nothing

    if os.path.islink(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)
