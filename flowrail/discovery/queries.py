"""The questions as the discovery documents ask them, from where the caller stands.

What is not given is looked up: the current folder, home, the environment. Everything else in this room
takes them as arguments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.git import superproject
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.ranking.scores import Query, Ranked, rank_for


def discover_handoff_targets(
    cwd: str | None = None, home: str | None = None, environ: Mapping[str, str] | None = None
) -> list[Candidate]:
    """Return the skills that work can be handed to, nearest scope first, then by name."""
    return list(_discover(cwd, home, environ).candidates)


def find_workflows(
    *,
    category: str | Iterable[str] = (),
    accepts_from: str = "",
    schema_version: str = "",
    input: str | Iterable[str] = (),  # noqa: A002 - as the registry's document calls it
    text: str = "",
    discovery: Discovery | None = None,
    cwd: str | None = None,
    home: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[Ranked]:
    """Return the workflows that answer what is asked for, best first; what is not given is not asked.

    A *discovery* made before is asked instead of a new one.
    """
    query = Query(_several(category), accepts_from, schema_version, _several(input), text)
    found = _discover(cwd, home, environ) if discovery is None else discovery
    return rank_for(found.candidates, query)


def _discover(cwd: str | None, home: str | None, environ: Mapping[str, str] | None) -> Discovery:
    around = os.environ if environ is None else environ
    return discover(
        os.getcwd() if cwd is None else cwd,
        os.path.expanduser("~") if home is None else home,
        around,
        ask_git=lambda work_tree: superproject(work_tree, around),
    )


def _several(value: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)
