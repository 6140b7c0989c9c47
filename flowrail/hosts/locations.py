"""Where hosts look for skills: in a project, in a user's home."""

from __future__ import annotations

import os
from collections.abc import Mapping

from flowrail.discovery.locations import FOLDERS, config_folder, find_project_root, named
from flowrail.errors import ConflictError, UsageError

HOSTS = {"claude": FOLDERS[0], "agents": FOLDERS[1]}
"""Each kind of host with the folder that it reads."""


class PlaceElsewhereError(ConflictError):
    """The project's skills are behind a link out of the project; what it leads to is not the project's."""

    code = "PLACE_ELSEWHERE"


def place(to: str, host: str, *, cwd: str, home: str, environ: Mapping[str, str]) -> str:
    """Return the folder that *to* means: the project's or the user's skills, or that very folder."""
    if to == "project":
        return in_project(cwd, home, host)
    if to == "home":
        base = config_folder(home, environ) if host == "claude" else os.path.join(home, ".agents")
        return os.path.join(base, "skills")
    if not to.strip():
        raise UsageError("--to is empty", hint="say project, home, or a folder that holds skills")
    return named(to, cwd, home)


def in_project(cwd: str, home: str, host: str = "claude", *, say: str = "--to") -> str:
    """Return the folder that holds the skills of the project that *cwd* is in.

    Whoever wrote the project may have made it a link, and what lies elsewhere is nobody's to change for the
    project. In one's own home it may be one, to somebody's dotfiles. *say* is how another place is named.
    """
    project = find_project_root(cwd)
    path = os.path.join(project, HOSTS[host])
    real = os.path.realpath(path)
    if os.path.commonpath([project, real]) != project and project != os.path.realpath(home):
        raise PlaceElsewhereError(
            f"{path} leads out of the project, to {real}, so nothing is changed there",
            hint=f"take the link away, or name a place yourself with {say} DIR",
            path=path,
            real=real,
        )
    return path
