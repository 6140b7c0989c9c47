"""The bundled skills as targets of handoffs. They need no installation and come after all installed skills.

Their folder is not a location of installed skills, so they are found and counted separately.
"""

from __future__ import annotations

import os

from flowrail.discovery.index import Discovery, combine
from flowrail.discovery.locations import Locations, Root, Scope
from flowrail.discovery.registry_file import Registry
from flowrail.discovery.scan.scan import scan

_HERE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bundled"
)  # `catalog` costs more to import


def bundled(installed: Discovery) -> Discovery:
    """Return the bundled skills that no installed skill hides."""
    about = os.stat(_HERE)
    root = Root(_HERE, Scope.BUNDLED, Scope.BUNDLED.value, identity=(about.st_dev, about.st_ino))
    found = combine(Locations((root,)), scan([root]), Registry(""))
    taken = {each.skill for each in installed.candidates}
    taken |= {each.skill for each in installed.skipped if each.is_skill}
    return found._replace(
        candidates=tuple(each for each in found.candidates if each.skill not in taken),
        skipped=tuple(each for each in found.skipped if each.is_skill and each.skill not in taken),
    )


def with_bundled(installed: Discovery) -> Discovery:
    """Return the installed skills and, after them, the bundled ones: all possible targets."""
    return installed._replace(candidates=(*installed.candidates, *bundled(installed).candidates))
