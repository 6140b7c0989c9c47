"""The mark of this user on the records that they write. Its key is outside every project."""

from __future__ import annotations

import hashlib
import hmac
import os

from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.storage.lock import locked

KEY_BYTES = 32


class Owner:
    """This user, whose key is in the state folder. The key is created when it is first needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._key = b""
        self._real: dict[str, str] = {}

    def key(self) -> bytes:
        """Return this user's key."""
        self._key = self._key or user_key(self.folder)
        return self._key

    def mark(self, folder: str, body: bytes) -> str:
        """Return this user's mark for a line of the journal in *folder*, given the text before the mark."""
        store, name = os.path.split(folder)
        if store not in self._real:
            self._real[store] = os.path.realpath(store)
        text = f"{name}\0{self._real[store]}\0{sha256_hex(body)}"
        return hmac.new(self.key(), os.fsencode(text), hashlib.sha256).hexdigest()

    def owns(self, folder: str, body: bytes, mark: str) -> bool:
        """Return whether *mark* is this user's for a line of the journal in *folder*."""
        has_key = bool(mark) and os.path.lexists(os.path.join(self.folder, "key"))
        return has_key and hmac.compare_digest(mark.encode(), self.mark(folder, body).encode())


def user_key(folder: str) -> bytes:
    """Return the key in *folder*. If two processes create it at the same time, both get the same key."""
    path = os.path.join(folder, "key")
    if not os.path.lexists(path):
        files.make_private_dir(folder)
        with locked(os.path.join(folder, "lock"), wait=10.0, what="your key"):
            if not os.path.lexists(path):  # without its key a session becomes foreign, so it is flushed
                files.write_atomic(path, os.urandom(KEY_BYTES).hex().encode() + b"\n")
    return _read(path)


def _read(path: str) -> bytes:
    try:
        data = files.read_bounded(path, limit=4 * KEY_BYTES, what="your key")
        key = bytes.fromhex(data.decode("ascii").strip())
    except (ValueError, UnicodeDecodeError):
        key = b""
    if len(key) != KEY_BYTES:
        raise DocumentError(
            "is not a key", hint="move it away; sessions started with it must be accepted", place=path
        )
    return key
