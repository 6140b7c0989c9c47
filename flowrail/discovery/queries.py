"""The functions of the discovery documents, for callers in the current folder.

Arguments that are not given are looked up: the current folder, home and the environment. All other functions of this
package take them as arguments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.scores import Offer, Query, rank


def discover_handoff_targets(
    cwd: str | None = None, home: str | None = None, environ: Mapping[str, str] | None = None
) -> list[Candidate]:
    """Return the skills that can take over work, nearest scope first, then by name."""
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
) -> list[Offer]:
    """Return the workflows that match the whole request, best first.

    If nothing is requested, they have no score. A given *discovery* is used instead of a new scan.
    """
    query = Query(_several(category), accepts_from, schema_version, _several(input), text)
    discovered = _discover(cwd, home, environ) if discovery is None else discovery
    return rank(discovered.candidates, query)


def _discover(cwd: str | None, home: str | None, environ: Mapping[str, str] | None) -> Discovery:
    return discover(
        os.getcwd() if cwd is None else cwd,
        os.path.expanduser("~") if home is None else home,
        os.environ if environ is None else environ,
    )


def _several(value: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)
