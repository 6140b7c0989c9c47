"""Build a Claude Code plugin: the bundled skills, hooks, agents, and the marketplace that lists the plugin.

A skill in it is only its SKILL.md: the steps stay in the package, so an upgrade of flowrail needs no new plugin. The
same sources give the same bytes. The repository's own plugin is made by `flow hook plugin .`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import flowrail.hosts
from flowrail import __version__
from flowrail.errors import ConflictError, DocumentError
from flowrail.hosts.settings import hooks
from flowrail.skills.bundled_copies import shipped
from flowrail.skills.install import CARD, bundled
from flowrail.storage.files import make_dir, read_bounded, write_atomic
from flowrail.text import limits

NAME = "flowrail"
MARKET = ".claude-plugin/marketplace.json"
_ROOT = f"plugins/{NAME}"
_ABOUT = (
    "Makes agents follow procedures: skills as workflows, hooks that show the current step, and three agents"
)
#: The agents that bundled skills dispatch work to and that Claude Code does not have itself.
_AGENTS = Path(flowrail.hosts.__file__).with_name("agents")


class NotOurFolderError(ConflictError):
    """The folder for the plugin contains something else."""

    code = "NOT_OUR_FOLDER"


def contents() -> dict[str, bytes]:
    """Return every file of the plugin and of its marketplace, by path."""
    author = {"name": NAME}
    about = {"description": _ABOUT, "version": __version__}
    plugin = {"name": NAME, **about, "license": "MIT"}
    keywords = ["workflow", "state-machine", "procedure", "hooks"]
    manifest = {**plugin, "author": author, "keywords": keywords}
    market = {
        "name": NAME,
        "owner": author,
        "metadata": about,
        "plugins": [{**plugin, "source": f"./{_ROOT}"}],
    }
    files = {
        MARKET: _json(market),
        f"{_ROOT}/.claude-plugin/plugin.json": _json(manifest),
        f"{_ROOT}/hooks/hooks.json": _json({"description": _ABOUT, "hooks": hooks()}),
    }
    cards = {f"{_ROOT}/skills/{name}/{CARD}": shipped(name).contents[CARD] for name in bundled()}
    agents = {f"{_ROOT}/agents/{path.name}": path.read_bytes() for path in sorted(_AGENTS.glob("*.md"))}
    return files | agents | cards


def build(folder: str) -> list[str]:
    """Write the plugin into *folder*, which must be new, empty, or a plugin of flowrail; return its files."""
    _refuse_others(folder)
    files = contents()
    real = os.path.realpath(folder)
    for path in files:
        inside = os.path.realpath(os.path.join(folder, os.path.dirname(path)))
        if os.path.commonpath([real, inside]) != real:
            raise NotOurFolderError(
                f"{folder}/{os.path.dirname(path)} is a link to {inside}, outside the folder, so nothing was written",
                hint="remove the link, or name a new folder",
                folder=folder,
            )
    for path, data in files.items():
        full = os.path.join(folder, path)
        make_dir(os.path.dirname(full))
        write_atomic(full, data, mode=0o644, durable=False)
    return [*files]


def _refuse_others(folder: str) -> None:
    """Refuse a folder that contains something other than a plugin of flowrail."""
    problem = "contains something other than a plugin of flowrail"
    market = os.path.join(folder, MARKET)
    try:
        if not os.path.lexists(folder) or not os.listdir(folder):
            return
        if json.loads(read_bounded(market, limit=limits.JSON_BYTES, what="the market"))["name"] == NAME:
            return
    except OSError as error:
        problem = f"cannot be read as a folder ({error.strerror})"
    except (DocumentError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise NotOurFolderError(f"{folder} {problem}", hint="name a new folder", folder=folder)


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
