"""The bundled skills as targets of handoffs. They need no installation and come after all installed skills.

Their folder is not a location of installed skills, so they are found and counted separately.
"""

from __future__ import annotations

import os

from flowrail.discovery.index import Discovery, combine
from flowrail.discovery.locations import Locations, Root, Scope, bundled_folder
from flowrail.discovery.registry_file import Registry
from flowrail.discovery.scan.scan import scan


def bundled(installed: Discovery) -> Discovery:
    """Return the bundled skills that no installed skill hides."""
    folder = bundled_folder()
    status = os.stat(folder)
    root = Root(folder, Scope.BUNDLED, Scope.BUNDLED.value, identity=(status.st_dev, status.st_ino))
    shipped = combine(Locations((root,)), scan([root]), Registry(""))
    taken = {candidate.skill for candidate in installed.candidates}
    taken |= {skipped.skill for skipped in installed.skipped if skipped.is_skill}
    return shipped._replace(
        candidates=tuple(candidate for candidate in shipped.candidates if candidate.skill not in taken),
        skipped=tuple(
            skipped for skipped in shipped.skipped if skipped.is_skill and skipped.skill not in taken
        ),
    )


def with_bundled(installed: Discovery) -> Discovery:
    """Return the installed skills and, after them, the bundled ones: all possible targets."""
    return installed._replace(candidates=(*installed.candidates, *bundled(installed).candidates))
