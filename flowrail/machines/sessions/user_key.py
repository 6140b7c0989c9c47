"""Who a session belongs to: this user's key, kept outside every project, and what they took over."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from flowrail.errors import DocumentError, StorageError
from flowrail.storage import files

KEY_BYTES = 32
LARGEST_MARK = 1_000


def state_folder(environ: Mapping[str, str], home: str) -> str:
    """Return the folder of this user's own state."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "flowrail")


class Taken(NamedTuple):
    """How far a session was taken over: the newest record then, and the digests its definition may have.

    No head: an earlier version took it over, whatever came. `None` for definitions: any will do.
    """

    head: str
    definitions: tuple[str, ...] | None


class Owner:
    """This user, as their state folder knows them. The key is made when it is first needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._key = b""

    def key(self) -> bytes:
        """Return this user's key."""
        self._key = self._key or user_key(self.folder)
        return self._key

    def taken(self, first_hash: str) -> Taken | None:
        """Return how this user took over the session that begins with that record, `None` where not."""
        try:
            data = files.read_bounded(self._mark(first_hash), limit=LARGEST_MARK, what="what was adopted")
            told = json.loads(data or b"{}")
            definitions = told.get("definitions")
            return Taken(str(told.get("head", "")), None if definitions is None else tuple(definitions))
        except (DocumentError, ValueError, TypeError, AttributeError):
            return None

    def adopted(self, first_hash: str) -> bool:
        """Return whether this user took over the session that begins with that record."""
        return self.taken(first_hash) is not None

    def adopt(self, first_hash: str, head: str = "", definitions: Sequence[str] | None = None) -> None:
        """Take over the session that begins with that record, as far as *head*, and no other.

        *definitions* are the digests that its definition may have.
        """
        told = {"head": head} if definitions is None else {"head": head, "definitions": list(definitions)}
        files.make_private_dir(os.path.join(self.folder, "adopted"))
        files.write_atomic(self._mark(first_hash), json.dumps(told).encode() if head else b"")

    def _mark(self, first_hash: str) -> str:
        return os.path.join(self.folder, "adopted", first_hash)


def user_key(folder: str) -> bytes:
    """Return the key kept in *folder*, made the first time; two makers agree on one."""
    path = os.path.join(folder, "key")
    try:
        return _read(path)
    except files.MissingFileError:
        pass
    files.make_private_dir(folder)
    fresh = files.temporary_in(folder)
    files.write_atomic(fresh, os.urandom(KEY_BYTES).hex().encode() + b"\n")
    try:
        with suppress(FileExistsError):
            os.link(fresh, path)
        files.sync_dir(folder)  # without its key a session is somebody else's
    except OSError as error:
        raise StorageError(f"{path} could not be made ({error.strerror})", hint="check the disk") from None
    finally:
        with suppress(OSError):
            os.unlink(fresh)
    return _read(path)


def _read(path: str) -> bytes:
    try:
        data = files.read_bounded(path, limit=4 * KEY_BYTES, what="your key")
        key = bytes.fromhex(data.decode("ascii").strip())
    except (ValueError, UnicodeDecodeError):
        key = b""
    if len(key) != KEY_BYTES:
        raise DocumentError(
            "is no key", hint="move it away; sessions started with it will have to be adopted", place=path
        )
    return key
