"""The Claude Code plugin of this repository: the bundled skills, hooks, agents, and the marketplace that lists it.

A skill in it is only its SKILL.md: the steps stay in the package, so an upgrade of flowrail needs no new plugin. The
same sources give the same bytes. `docs/pages.py` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path

import flowrail.hosts
from flowrail import __version__
from flowrail.discovery.scan import SKILL_FILE
from flowrail.hosts.host import CLAUDE_CODE
from flowrail.hosts.settings import hooks
from flowrail.skills.bundled_copies import shipped
from flowrail.skills.install import bundled

ROOT = "plugins/flowrail"
ABOUT = (
    "Makes agents follow procedures: skills as workflows, hooks that show the current step, and three agents"
)
AGENTS = Path(flowrail.hosts.__file__).with_name("agents")
"""The agents that bundled skills dispatch work to and that Claude Code does not have itself."""


def contents() -> dict[str, bytes]:
    """Return every file of the plugin and of its marketplace, by path."""
    about = {"description": ABOUT, "version": __version__}
    plugin = {"name": "flowrail", **about, "license": "MIT"}
    author = {"name": "flowrail"}
    keywords = ["workflow", "state-machine", "procedure", "hooks"]
    market = {
        "name": "flowrail",
        "owner": author,
        "metadata": about,
        "plugins": [{**plugin, "source": f"./{ROOT}"}],
    }
    files = {
        ".claude-plugin/marketplace.json": _json(market),
        f"{ROOT}/.claude-plugin/plugin.json": _json({**plugin, "author": author, "keywords": keywords}),
        f"{ROOT}/hooks/hooks.json": _json(
            {"description": ABOUT, "hooks": {name: [entry] for name, entry in hooks(CLAUDE_CODE).items()}}
        ),
    }
    cards = {f"{ROOT}/skills/{name}/{SKILL_FILE}": shipped(name).contents[SKILL_FILE] for name in bundled()}
    agents = {f"{ROOT}/agents/{path.name}": path.read_bytes() for path in sorted(AGENTS.glob("*.md"))}
    return files | agents | cards


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
