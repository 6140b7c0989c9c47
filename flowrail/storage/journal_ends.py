"""How long each journal is, noted in the user's state folder, so that an audit notices if its last lines were removed.

The hashes of a journal connect each line with the one before it, so they say nothing about lines after the last. A note is
not flushed: after a power failure it may be older than the journal, which is no loss.
"""

from __future__ import annotations

import os
from contextlib import suppress

from flowrail.storage.files import sha256_hex

_DIGITS = 20


class JournalEnds:
    """The notes in one folder, a file for each journal."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def note(self, journal: str, *, before: int, after: int) -> None:
        """Note that *journal* had *before* bytes and has *after* now. Bytes that were missing stay noted as lost."""
        lost = self.lost_bytes(journal, before)
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            file = os.open(self._path(journal), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # In place: after a truncation, some file systems flush the file when it is closed.
                os.pwrite(file, f"{after:0{_DIGITS}} {lost:0{_DIGITS}}".encode(), 0)
            finally:
                os.close(file)

    def lost_bytes(self, journal: str, size: int) -> int:
        """Return how many bytes were removed from the end of *journal*, which has *size* bytes."""
        known, lost = 0, 0
        with suppress(OSError, ValueError), open(self._path(journal), encoding="ascii") as file:
            known, lost = map(int, file.read(2 * _DIGITS + 1).split())
        return max(known - size, lost)

    def forget(self, journal: str) -> None:
        """Remove the note about a journal that is deleted."""
        with suppress(OSError):
            os.unlink(self._path(journal))

    def _path(self, journal: str) -> str:
        return os.path.join(self._folder, sha256_hex(os.fsencode(os.path.realpath(journal)))[:32])
