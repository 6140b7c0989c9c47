"""Read the guards of the skills in a project and in the user's home.

A bundled skill guards from its set-up, which installs it in a project or in the home, and a skill in Python from its
approval.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from flowrail.discovery.locations import BUNDLED, look
from flowrail.errors import FlowError
from flowrail.rules import tools
from flowrail.skills.catalog import Skill, listing, workflows
from flowrail.skills.guard_index import Guard, known_guards, write_index
from flowrail.skills.loader import Loader
from flowrail.storage.files import list_names


def guards_of(project: str, *, state: str, environ: Mapping[str, str], home: str) -> tuple[Guard, ...]:
    """Return the guards of the skills of a project and of the user, after renewing the index if it is not up to date."""
    known = known_guards(project, state=state, environ=environ, home=home)
    if known is not None:
        return known
    locations = look(project, home, environ)
    loader = Loader(locations.usable, state, project)
    skills = [skill for skill in listing(locations.usable) if skill.source != BUNDLED]
    guards = tuple(guard for skill in skills for guard in _guards(skill, loader))
    files = (file for skill in skills for file in _files(skill))
    paths = [*(root.path for root in locations.roots), *files, os.path.join(state, "trust")]
    write_index(guards, paths, project, state=state, environ=environ, home=home)
    return guards


def _guards(skill: Skill, loader: Loader) -> Iterator[Guard]:
    """Yield the guards of all workflows of a skill that can be read."""
    for file in workflows(skill):
        with suppress(FlowError):
            for pattern, steps in loader.read(file).definition.guards.items():
                if tools.problem(pattern) is None:
                    yield Guard(file.address, pattern, tuple(steps))


def _files(skill: Skill) -> Iterator[str]:
    """Yield the folders of a skill, and the files in them that may define a workflow."""
    for folder in (skill.folder, *(os.path.join(skill.folder, name) for name in ("workflows", "scripts"))):
        yield folder
        yield from (os.path.join(folder, name) for name in list_names(folder, ".yaml", ".py"))
