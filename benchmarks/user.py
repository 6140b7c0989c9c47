"""The user whose commands are measured: an environment with its own home, and the installed command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple


class User(NamedTuple):
    """An environment and the path of `flow`."""

    environment: dict[str, str]
    flow: str


def user_at(folder: str) -> User:
    """Return a user whose home is *folder*."""
    environment = {**os.environ, "HOME": folder, "XDG_STATE_HOME": f"{folder}/state"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # after the first call, users have bytecode
    return User(environment, str(Path(sys.executable).parent / "flow"))
