"""Where a user's own state and configuration are. Hooks import this for every tool that an agent uses."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress

TYPE_CHECKING = False  # not from `typing`, which would take a tenth of a hook
if TYPE_CHECKING:
    from typing import Any

CONFIGURATION_FILE = "flowrail/config.toml"
_LARGEST = 1_000_000


def expand(path: str, home: str) -> str:
    """Return *path* with *home* in place of a leading `~`."""
    if path == "~":
        return home
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def state_folder(environ: Mapping[str, str], home: str) -> str:
    """Return the folder of this user's own state."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "flowrail")


def configuration_path(environ: Mapping[str, str], home: str) -> str:
    """Return the path of the configuration file, which may not exist."""
    folder = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(folder, CONFIGURATION_FILE)


def read_state(path: str) -> Any:
    """Return the JSON in a file of the state folder; `OSError` or `ValueError` if it is missing."""
    with open(path, "rb") as file:
        return json.loads(file.read(_LARGEST))


def write_state(path: str, value: object) -> None:
    """Replace a file of the state folder that can be made again. If that fails, it stays as it was."""
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        partial = f"{path}.{os.getpid()}"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(partial, path)
