"""The store that the environment or the user's configuration names. Hooks import this for every tool that an agent uses."""

from __future__ import annotations

import os

from flowrail.storage.user_folders import configuration_path

TYPE_CHECKING = False  # not from `typing`, which would take a tenth of a hook
if TYPE_CHECKING:
    from collections.abc import Mapping


def named_store(environ: Mapping[str, str], home: str) -> str:
    """Return the store that the environment or the user's configuration names, or nothing."""
    if environ.get("FLOW_STORE") or not os.path.exists(configuration_path(environ, home)):
        return environ.get("FLOW_STORE", "")
    from flowrail.storage.configuration import configured_store  # most users have no such file

    return configured_store(environ, home)
