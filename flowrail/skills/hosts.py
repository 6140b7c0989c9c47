"""Where hosts look for skills: in a project, in a user's home."""

from __future__ import annotations

import os
from collections.abc import Mapping

from flowrail.discovery.locations import FOLDERS, config_folder, expand, find_project_root
from flowrail.errors import UsageError

HOSTS = {"claude": FOLDERS[0], "agents": FOLDERS[1]}
"""Each kind of host with the folder that it reads."""


def place(to: str, host: str, *, cwd: str, home: str, environ: Mapping[str, str]) -> str:
    """Return the folder that *to* means: the project's or the user's skills, or that very folder."""
    if to == "project":
        return in_project(cwd, host)
    if to == "home":
        base = config_folder(home, environ) if host == "claude" else os.path.join(home, ".agents")
        return os.path.join(base, "skills")
    if not to.strip():
        raise UsageError("--to is empty", hint="say project, home, or a folder that holds skills")
    return os.path.normpath(os.path.join(cwd, expand(to, home)))


def in_project(cwd: str, host: str = "claude") -> str:
    """Return the folder that holds the skills of the project that *cwd* is in."""
    return os.path.join(find_project_root(cwd), HOSTS[host])
