"""Read the guards of the skills in a project and in the user's home.

A bundled skill guards from its set-up, which installs it in a project or in the home, and a skill in Python from its
approval. If somebody breaks a workflow, its commands do not become free: the guards that held before still hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from flowrail.approval import approval_of
from flowrail.discovery.locations import BUNDLED, look
from flowrail.errors import FlowError, TrustError
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.rules import tools
from flowrail.skills.catalog import Skill, listing, workflows
from flowrail.skills.guard_index import Guard, GuardIndex, read_index, write_index
from flowrail.skills.loader import Loader
from flowrail.storage.files import list_names


def guards_of(project: str, *, state: str, environ: Mapping[str, str], home: str) -> GuardIndex:
    """Return the guards of the skills of a project and of the user, after renewing the index if it is not current."""
    before = read_index(project, state=state, environ=environ, home=home)
    if before is not None and before.is_current:
        return before
    locations = look(project, home, environ)
    loader = Loader(locations.usable, state, project)
    skills = [skill for skill in listing(locations.usable) if skill.source != BUNDLED]
    guards: list[Guard] = []
    broken: list[str] = []
    for skill, file in [(owner, file) for owner in skills for file in workflows(owner)]:
        known = [guard for guard in before.guards if guard.skill == file.address] if before else []
        found, has_errors = _guards(skill, file, loader, known)
        guards += found
        broken += [file.address] if has_errors else []
    files = (file for root in locations.roots for folder in _folders(root.path) for file in _files(folder))
    paths = [*(root.path for root in locations.roots), *files, os.path.join(state, "trust")]
    index = GuardIndex(guards, broken)
    write_index(index, paths, project, state=state, environ=environ, home=home)
    return index


def _guards(skill: Skill, file: WorkflowFile, loader: Loader, known: list[Guard]) -> tuple[list[Guard], bool]:
    """Return the guards of a workflow, and whether no session of it can start: then the guards that were *known* hold.

    If none were, those hold that can be read, or those of the user's own skill that a project's skill hides without
    approval. Python guards nothing without an approval.
    """
    guards: list[Guard] = []
    try:
        loader.allowed(skill, file)
        loaded = loader.read(file)
        guards = [
            Guard(file.address, pattern, tuple(steps))
            for pattern, steps in loaded.definition.guards.items()
            if tools.problem(pattern) is None
        ]
        loaded.workflow()
    except TrustError:
        if skill.hides_own and not known:
            guards = [guard for own in skill.hides for guard in _hidden(own, file.address, loader)]
        elif file.is_python and approval_of(skill.folder, loader.project, loader.state) is None:
            return [], False
    except FlowError:
        pass
    else:
        return guards, False
    return [Guard(each.skill, each.pattern, each.steps, is_broken=True) for each in known or guards], True


def _hidden(skill: Skill, address: str, loader: Loader) -> list[Guard]:
    """Return the guards of a workflow in the user's own skill, which another skill hides."""
    files = (file for file in workflows(skill) if file.address == address)
    return [guard for file in files for guard in _guards(skill, file, loader, [])[0]]


def _folders(location: str) -> Iterator[str]:
    """Yield the folders in a location of skills, also those that have no workflow yet."""
    with suppress(OSError), os.scandir(location) as entries:
        yield from (entry.path for entry in entries if entry.is_dir())


def _files(skill: str) -> Iterator[str]:
    """Yield the folder of a skill with those in it, and the files in them that may define a workflow."""
    for folder in (skill, *(os.path.join(skill, name) for name in ("workflows", "scripts"))):
        yield folder
        yield from (os.path.join(folder, name) for name in list_names(folder, ".yaml", ".py"))
