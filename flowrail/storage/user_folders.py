"""Where a user's own state and configuration are. Hooks import this for every tool that an agent uses."""

from __future__ import annotations

import os
from collections.abc import Mapping

CONFIGURATION_FILE = "flowrail/config.toml"


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
