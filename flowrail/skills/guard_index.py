"""The guards of a project's skills, as an index that hooks read for every tool that an agent uses.

The index is plain JSON in the user's state folder. It names every file and folder that it was made from; if one of
them changed, the skills are scanned again. A workflow of which no session can start keeps the guards that it had.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from flowrail.hosts.host import HOSTS
from flowrail.rules.tools import ToolUse, forbidding
from flowrail.storage.user_folders import read_state, write_state

LIFTED_SECONDS = 3600.0
"""A person's permission for one call ends after an hour."""
_FOLDER = "guards"


class Guard:
    """A pattern of calls that a skill guards."""

    def __init__(self, skill: str, pattern: str, steps: tuple[str, ...], *, is_broken: bool = False) -> None:
        self.skill = skill
        """The address of the workflow."""
        self.pattern = pattern
        """The calls that are denied."""
        self.steps = steps
        """The steps that allow them."""
        self.is_broken = is_broken
        """Whether no session of the workflow can start: it has errors, or is not approved."""


class GuardIndex:
    """The guards of the skills of a project and of the user."""

    def __init__(self, guards: Iterable[Guard], broken: Iterable[str], *, is_current: bool = True) -> None:
        self.guards = tuple(guards)
        self.broken = tuple(broken)
        """The addresses of the workflows of which no session can start."""
        self.is_current = is_current
        """Whether no file has changed since it was made."""


def read_index(project: str, *, state: str, environ: Mapping[str, str], home: str) -> GuardIndex | None:
    """Return the index, which may not be current; `None` without one."""
    key = _key(project, home, environ)
    with suppress(OSError, ValueError, KeyError, TypeError):
        index = read_state(_path(state, key))
        broken = index["broken"]
        guards = [
            Guard(skill, pattern, tuple(steps), is_broken=skill in broken)
            for skill, pattern, steps in index["guards"]
        ]
        is_current = all(stamp(path) == before for path, before in index["stamps"].items())
        return GuardIndex(guards, broken, is_current=is_current) if index["of"] == key else None
    return None


def write_index(
    index: GuardIndex,
    paths: Iterable[str],
    project: str,
    *,
    state: str,
    environ: Mapping[str, str],
    home: str,
) -> None:
    """Replace the index. *paths* are the files and folders whose change can change the guards."""
    key = _key(project, home, environ)
    stamps = {path: stamp(path) for path in paths}
    write_state(
        _path(state, key),
        {
            "of": key,
            "stamps": stamps,
            "guards": [[guard.skill, guard.pattern, guard.steps] for guard in index.guards],
            "broken": index.broken,
        },
    )


def matching(guards: Iterable[Guard], used: ToolUse) -> list[Guard]:
    """Return the guard that denies a call, for each skill.

    If several patterns of a skill match, it is the one with the fewest steps, and only the steps that all of them name
    allow the call.
    """
    strictest: dict[str, Guard] = {}
    for guard in guards:
        if forbidding([guard.pattern], used) is None:
            continue
        other = strictest.get(guard.skill, guard)
        shown = min(other, guard, key=lambda each: len(each.steps))
        common = tuple(step for step in other.steps if step in guard.steps)
        strictest[guard.skill] = Guard(guard.skill, shown.pattern, common, is_broken=guard.is_broken)
    return list(strictest.values())


def stamp(path: str) -> list[int] | None:
    """Return what identifies the state of a file or folder; `None` if it is missing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def lift(state: str, project: str, pattern: str) -> None:
    """Allow one call that a guard denies. Only a person decides that."""
    key = [project, pattern]
    write_state(_path(state, key), {"of": key})


def take_lift(state: str, project: str, pattern: str) -> bool:
    """Return whether a person allowed one call, and use the permission up."""
    path = _path(state, [project, pattern])
    with suppress(OSError, ValueError, KeyError, TypeError):
        is_new = time.time() - os.stat(path).st_mtime < LIFTED_SECONDS
        is_meant = read_state(path)["of"] == [project, pattern]
        os.unlink(path)
        return is_new and is_meant
    return False


def _key(project: str, home: str, environ: Mapping[str, str]) -> list[str]:
    """Return what the folders of skills depend on."""
    return [project, home, *(environ.get(host.moved_by, "") for host in HOSTS)]


def _path(state: str, key: Sequence[str]) -> str:
    """Return a file by a short name; what it is of is in the file."""
    name = zlib.crc32("\0".join(key).encode("utf-8", "surrogateescape"))
    return os.path.join(state, _FOLDER, f"{name:08x}.json")
