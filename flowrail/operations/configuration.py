"""The user's own configuration file. A project cannot set anything in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from flowrail.errors import DocumentError
from flowrail.storage.files import MissingFileError, read_bounded

FILE = "flowrail/config.toml"
LARGEST = 64_000


class Configuration(NamedTuple):
    """What the user configured.

    ``store`` is a folder or the address of a database, used if neither ``--store`` nor ``FLOW_STORE`` is given.
    ``notify`` is a command that runs when a watched session starts to need a person; see `flow watch --help`.
    ``work_folder`` is where new sessions keep their working files; `$session` in it is the session's id.
    """

    store: str = ""
    notify: tuple[str, ...] = ()
    work_folder: str = ""


def configuration_path(environ: Mapping[str, str], home: str) -> str:
    """Return the path of the configuration file, which may not exist."""
    folder = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(folder, FILE)


def read_configuration(environ: Mapping[str, str], home: str) -> Configuration:
    """Return the user's configuration; the defaults without a file."""
    path = configuration_path(environ, home)
    try:
        text = read_bounded(path, limit=LARGEST, what="the configuration", follow=True).decode(
            "utf-8", "replace"
        )
    except MissingFileError:
        return Configuration()
    import tomllib  # 3 ms, and most users have no such file

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"is not valid TOML: {error}", hint="fix the file", place=path) from None
    unknown = sorted(values.keys() - set(Configuration._fields))
    if unknown:
        known = ", ".join(Configuration._fields)
        raise DocumentError(f"has an unknown key `{unknown[0]}`", hint=f"known keys: {known}", place=path)
    store = values.get("store", "")
    if not isinstance(store, str) or (store and "://" not in store and not os.path.isabs(store)):
        example = 'store = "postgresql://user@host/database"'
        raise DocumentError(
            "`store` is neither an absolute path nor the address of a database",
            hint=f"write: {example}",
            place=path,
        )
    notify = values.get("notify", [])
    if not isinstance(notify, list) or not all(isinstance(word, str) and word for word in notify):
        example = 'notify = ["notify-send", "$topic", "$reason"]'
        raise DocumentError("`notify` is not a list of words", hint=f"write: {example}", place=path)
    work_folder = values.get("work_folder", "")
    if not isinstance(work_folder, str) or (work_folder and "$session" not in os.path.basename(work_folder)):
        raise DocumentError(
            "`work_folder` does not end in a folder for each session",
            hint='write a path with `$session` at its end: work_folder = "~/flow-work/$session"',
            place=path,
        )
    return Configuration(store=store, notify=tuple(notify), work_folder=work_folder)


def configured_store(environ: Mapping[str, str], home: str) -> str:
    """Return the store that the user configured, or nothing."""
    return (
        read_configuration(environ, home).store if os.path.exists(configuration_path(environ, home)) else ""
    )
