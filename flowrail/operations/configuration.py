"""The user's own configuration file. A project cannot set anything in it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import NamedTuple

from flowrail.errors import DocumentError
from flowrail.storage.files import MissingFileError, read_bounded

FILE = "flowrail/config.toml"
LARGEST = 64_000


class Configuration(NamedTuple):
    """What the user configured.

    ``notify`` is a command that runs when a watched session starts to need a person; see `flow watch --help`.
    """

    notify: tuple[str, ...] = ()


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
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"is not valid TOML: {error}", hint="fix the file", place=path) from None
    unknown = sorted(values.keys() - set(Configuration._fields))
    if unknown:
        known = ", ".join(Configuration._fields)
        raise DocumentError(f"has an unknown key `{unknown[0]}`", hint=f"known keys: {known}", place=path)
    notify = values.get("notify", [])
    if not isinstance(notify, list) or not all(isinstance(word, str) and word for word in notify):
        example = 'notify = ["notify-send", "$topic", "$reason"]'
        raise DocumentError("`notify` is not a list of words", hint=f"write: {example}", place=path)
    return Configuration(notify=tuple(notify))
