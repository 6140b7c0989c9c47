"""This user's state, configuration, and the mark on the records that they write. Its key is outside every project."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.storage.user_folders import configuration_path

KEY_BYTES = 32


_LARGEST_CONFIGURATION = 64_000


class Configuration(NamedTuple):
    """What the user configured.

    ``store`` is a folder or the address of a database, used if neither ``--store`` nor ``FLOW_STORE`` is given.
    ``notify`` is a command that runs when a watched session starts to need a person; see `flow watch --help`.
    ``fleet`` has the programs and limits of `flow fleet`.
    """

    store: str = ""
    notify: tuple[str, ...] = ()
    fleet: Mapping[str, object] = MappingProxyType({})


_KEYS: Mapping[str, tuple[Callable[[object], bool], str, str]] = {
    "store": (
        lambda value: isinstance(value, str) and ("://" in value or os.path.isabs(value)),
        "is neither an absolute path nor the address of a database",
        'store = "postgresql://user@host/database"',
    ),
    "notify": (
        lambda value: isinstance(value, list) and all(isinstance(word, str) and word for word in value),
        "is not a list of words",
        'notify = ["notify-send", "$topic", "$reason"]',
    ),
    "fleet": (lambda value: isinstance(value, dict), "is not a table", "[fleet]"),
}
"""The keys of the configuration file: a function that accepts a value, the problem of a wrong value, and an example."""


def read_configuration(environ: Mapping[str, str], home: str) -> Configuration:
    """Return the user's configuration; the defaults without a file."""
    path = configuration_path(environ, home)
    try:
        text = files.read_bounded(
            path, limit=_LARGEST_CONFIGURATION, what="the configuration", follow=True
        ).decode("utf-8", "replace")
    except files.MissingFileError:
        return Configuration()
    import tomllib  # 3 ms, and most users have no such file

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"is not valid TOML: {error}", hint="fix the file", place=path) from None
    for key, value in values.items():
        if key not in _KEYS:
            raise DocumentError(
                f"has an unknown key `{key}`", hint=f"known keys: {', '.join(_KEYS)}", place=path
            )
        is_valid, problem, example = _KEYS[key]
        if not is_valid(value):
            raise DocumentError(f"`{key}` {problem}", hint=f"write: {example}", place=path)
    return Configuration(**{**values, "notify": tuple(values.get("notify", ()))})


def configured_store(environ: Mapping[str, str], home: str) -> str:
    """Return the store that the user configured; empty without one."""
    return (
        read_configuration(environ, home).store if os.path.exists(configuration_path(environ, home)) else ""
    )


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
        with files.locked(os.path.join(folder, "lock"), wait=10.0, what="your key"):
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
