"""The locations of skills, nearest first.

The current folder, each folder above it up to the git root, home, then folders named by the user. Inside a submodule the
git root is that of the superproject, so that the skills of the outer repository are found too.

Most commands look here, so the git root is found by walking up. git is asked only if a repository lies inside another
one, because only git knows whether it is a submodule.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from flowrail import git
from flowrail.discovery.git_root import ancestors, find_git_root
from flowrail.hosts.host import CLAUDE_CODE, HOSTS
from flowrail.storage.user_folders import expand

OFFERED = "available-workflows.yaml"
"""The name of a session's cache of skills; see `menu_cache`."""
FOLDERS = tuple(dict.fromkeys(host.skills for host in HOSTS))
"""The folders for a project's skills: the one of Claude Code, and the one that several hosts share."""
GIT_SECONDS = 5.0
"""The time that git and its child processes get in total."""

BUNDLED = "bundled"
"""The source of a bundled skill."""
_log = logging.getLogger(__name__)


class Scope(StrEnum):
    """The kind of a location, the nearest first."""

    PROJECT = "project"
    GIT_ROOT = "git-root"
    GLOBAL = "global"
    EXTRA = "extra"
    REGISTRY = "registry"
    BUNDLED = "bundled"

    @property
    def priority(self) -> int:
        """1 for the nearest, as menu and cache show it."""
        return _PRIORITY[self.value]


_PRIORITY = {scope.value: number for number, scope in enumerate(Scope, 1)}


class Root(NamedTuple):
    """A folder whose subfolders are skills."""

    path: str
    scope: Scope
    origin: str
    """The reason why it is searched: ``cwd``, ``parent``, ``git root``, ``superproject``, ``home``, ``--root`` …"""
    problem: str = ""
    """Why it cannot be used; empty if it can."""
    own: str = ""
    """Its path in the user's home, also if it is found first as the project's by a link; empty for other folders."""

    @property
    def personal(self) -> bool:
        """Whether it is the user's own folder."""
        return bool(self.own)


class Locations(NamedTuple):
    """Every location in order, usable or not."""

    roots: tuple[Root, ...]

    @property
    def usable(self) -> tuple[Root, ...]:
        """The locations that exist, are folders, and are not the same folder as an earlier one."""
        return tuple(root for root in self.roots if not root.problem)


def skill_roots(
    cwd: str, home: str, environ: Mapping[str, str], extra: Iterable[str] = ()
) -> tuple[Root, ...]:
    """Return the folders that contain skills, nearest first, each real folder once."""
    return look(cwd, home, environ, extra).usable


def look(cwd: str, home: str, environ: Mapping[str, str], extra: Iterable[str] = ()) -> Locations:
    """Return every location, with the problem of those that cannot be used.

    Outside a git repository, only *cwd* belongs to the project. Folders above it may belong to other users.
    """
    folder = os.path.realpath(cwd)
    work_tree = find_git_root(folder)
    superproject = _superproject(work_tree, environ) if work_tree else None
    top = superproject or work_tree
    project = [
        (os.path.join(ancestor, name), *_scope_and_origin(ancestor, folder, top, superproject))
        for ancestor in ancestors(folder)
        if ancestor.startswith(top or folder)
        for name in FOLDERS
    ]
    personal = [(path, Scope.GLOBAL, origin) for path, origin in _home_folders(home, environ)]
    extra_folders = [(named(path, folder, home), Scope.EXTRA, "--root") for path in extra]
    return Locations(_judge([*project, *personal, *extra_folders]))


def config_folder(home: str, environ: Mapping[str, str]) -> str:
    """Return the user's configuration folder: `~/.claude`, or the one that ``CLAUDE_CONFIG_DIR`` names."""
    return CLAUDE_CODE.in_home(CLAUDE_CODE.folder, home, environ)


def _home_folders(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each folder with skills in the user's home, and where its path comes from."""
    origins: dict[str, str] = {}
    for host in HOSTS:
        is_moved = environ.get(host.moved_by) and host.skills.startswith(f"{host.folder}/")
        path = host.in_home(host.skills, home, environ)
        origins.setdefault(path, host.moved_by if is_moved else "home")
    yield from origins.items()


def _scope_and_origin(folder: str, cwd: str, top: str | None, superproject: str | None) -> tuple[Scope, str]:
    if folder == cwd:
        return Scope.PROJECT, "cwd"
    if folder == top:
        return Scope.GIT_ROOT, "superproject" if superproject else "git root"
    return Scope.PROJECT, "parent"


def _judge(folders: Iterable[tuple[str, Scope, str]]) -> tuple[Root, ...]:
    """Return the folders as locations, with the problems of those that cannot be used."""
    seen = [(*folder, *_look_at(folder[0])) for folder in folders]
    own = {identity: path for path, scope, _, identity, _ in reversed(seen) if scope is Scope.GLOBAL}
    first: dict[object, str] = {}
    roots: list[Root] = []
    for path, scope, origin, identity, problem in seen:
        same = f"same folder as {first[identity]}" if identity in first else ""
        first.setdefault(identity, path)
        roots.append(Root(path, scope, origin, problem or same, own.get(identity, "")))
    return tuple(roots)


def _look_at(path: str) -> tuple[object, str]:
    """Return what identifies a folder, and why it cannot be used: the path itself identifies such a one."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return path, "missing"
    except (OSError, ValueError) as error:
        return path, f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return ((status.st_dev, status.st_ino), "") if stat.S_ISDIR(status.st_mode) else (path, "not a folder")


def _superproject(work_tree: str, environ: Mapping[str, str]) -> str | None:
    """Return the repository that *work_tree* is a submodule of; `None` if it is not one, or git does not say."""
    parent = os.path.dirname(work_tree)
    if parent == work_tree or find_git_root(parent) is None:
        return None
    words = ("rev-parse", "--show-superproject-working-tree")
    try:
        output = git.output_of(work_tree, words, environ, seconds=GIT_SECONDS)
    except git.GitFailedError as error:
        _log.debug("the superproject of %s is unknown: %s", work_tree, error.message)
        return None
    outer = os.path.realpath(os.fsdecode(output.removesuffix(b"\n")))
    return outer if output and work_tree.startswith(os.path.join(outer, "")) else None


def named(folder: str, cwd: str, home: str) -> str:
    """Return the path of a folder that a user named. Links before a `..` are resolved, as the system does."""
    path = os.path.join(cwd, expand(folder, home))
    return os.path.realpath(path) if os.pardir in path.split(os.sep) else os.path.normpath(path)


def bundled_folder() -> str:
    """Return the folder that holds the bundled skills."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bundled")
