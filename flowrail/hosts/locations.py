"""Where hosts look for skills: in a project, in a user's home."""

from __future__ import annotations

import os
from collections.abc import Mapping

from flowrail.discovery.locations import FOLDERS, config_folder, find_project_root, named
from flowrail.errors import ConflictError, UsageError

HOSTS = {"claude": FOLDERS[0], "agents": FOLDERS[1]}
"""Each kind of host with the folder that it reads."""


class PlaceElsewhereError(ConflictError):
    """The folder of the project's skills is a link out of the project."""

    code = "PLACE_ELSEWHERE"


def place(to: str, host: str, *, cwd: str, home: str, environ: Mapping[str, str]) -> str:
    """Return the folder that *to* means: that of the project's skills, that of the user's, or *to* itself."""
    if to == "project":
        return in_project(cwd, home, host)
    if to == "home":
        base = config_folder(home, environ) if host == "claude" else os.path.join(home, ".agents")
        return os.path.join(base, "skills")
    if not to.strip():
        raise UsageError("--to is empty", hint="use project, home, or a folder that contains skills")
    return named(to, cwd, home)


def in_project(cwd: str, home: str, host: str = "claude", *, say: str = "--to") -> str:
    """Return the folder that holds the skills of the project that *cwd* is in.

    A project may contain a link to another place, where nothing may be changed on its behalf. In the user's own
    home a link is fine, for example to dotfiles. *say* is the option that names another folder.
    """
    project = find_project_root(cwd)
    path = os.path.join(project, HOSTS[host])
    real = os.path.realpath(path)
    if os.path.commonpath([project, real]) != project and project != os.path.realpath(home):
        raise PlaceElsewhereError(
            f"{path} leads out of the project, to {real}, so nothing was written",
            hint=f"remove the link, or name a folder with {say} DIR",
            path=path,
            real=real,
        )
    return path
