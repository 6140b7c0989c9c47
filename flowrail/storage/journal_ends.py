"""How long each journal is, noted in the user's state folder, so that an audit notices if its last lines were removed.

The hashes of a journal connect each line with the one before it, so they say nothing about lines after the last. A note is
not flushed: after a power failure it may be older than the journal, which is no loss.
"""

from __future__ import annotations

import os
from contextlib import suppress

from flowrail.storage.files import sha256_hex

_BYTES = 41


class JournalEnds:
    """The notes in one folder, a file for each journal."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._real: dict[str, str] = {}

    def note(self, journal: str, *, before: int, after: int) -> None:
        """Note that *journal* had *before* bytes and has *after* now. Bytes that were missing stay noted as lost."""
        with suppress(OSError):
            file = self._opened(self._path(journal))
            try:
                lost = _lost(os.pread(file, _BYTES, 0), before)
                # In place: after a truncation, some file systems flush the file when it is closed.
                os.pwrite(file, b"%020d %020d" % (after, lost), 0)
            finally:
                os.close(file)

    def lost_bytes(self, journal: str, size: int) -> int:
        """Return how many bytes were removed from the end of *journal*, which has *size* bytes."""
        noted = b""
        with suppress(OSError), open(self._path(journal), "rb") as file:
            noted = file.read(_BYTES)
        return _lost(noted, size)

    def forget(self, journal: str) -> None:
        """Remove the note about a journal that is deleted."""
        with suppress(OSError):
            os.unlink(self._path(journal))

    def _opened(self, path: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            return os.open(path, flags, 0o600)

    def _path(self, journal: str) -> str:
        folder, name = os.path.split(os.path.dirname(journal))
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return os.path.join(self._folder, sha256_hex(os.fsencode(f"{self._real[folder]}/{name}"))[:32])


def _lost(noted: bytes, size: int) -> int:
    """Return how many bytes are lost, given a note and the *size* of its journal."""
    try:
        known, lost = map(int, noted.split())
    except ValueError:  # not noted yet
        return 0
    return max(known - size, lost)
