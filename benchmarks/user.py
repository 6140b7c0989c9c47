"""The user whose commands are timed: a home, an environment and the command of this installation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple


class User(NamedTuple):
    """An environment, and the command `flow` as this user calls it."""

    environment: dict[str, str]
    flow: str


def user_at(folder: str) -> User:
    """Return a user whose home is *folder*."""
    environment = {**os.environ, "HOME": folder, "XDG_STATE_HOME": f"{folder}/state"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have bytecode from the second call on
    return User(environment, str(Path(sys.executable).parent / "flow"))
