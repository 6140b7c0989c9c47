"""The set-up as a whole, for whoever wonders why something is not as expected.

Reads every skill's file once more, with all its keys, so it is for `flow doctor` and not for discovery.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import Note, first_notes
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import config_folder
from flowrail.discovery.scan.frontmatter import read_file
from flowrail.discovery.scan.spec import check

_COLLISIONS = frozenset({"HIDES_ELIGIBLE", "CLIENT_PREFERS_PERSONAL", "SAME_NAME"})
#: Clients that read skills: where each keeps its own things, and what moves that.
_HOSTS = (
    ("Codex", "CODEX_HOME", ".codex"),
    ("Cursor", "", ".cursor"),
    ("Gemini CLI", "", ".gemini"),
    ("OpenCode", "", ".config/opencode"),
    ("Goose", "", ".config/goose"),
)


class Host(NamedTuple):
    """A client that reads skills, where it keeps its own things, and whether it is there."""

    name: str
    folder: str
    found: bool


class Examination(NamedTuple):
    """What there is, by kind: counts of dialects and of what kept skills out, and all that is odd."""

    hosts: tuple[Host, ...]
    dialects: Mapping[str, int]
    skipped: Mapping[str, int]
    collisions: tuple[Note, ...]
    readings: tuple[Note, ...]
    conformance: tuple[Note, ...]


def examine(discovery: Discovery, home: str, environ: Mapping[str, str]) -> Examination:
    """Return what `flow doctor` tells of the skills of *discovery*."""
    offered = (*discovery.candidates, *discovery.hidden)
    skills: list[Candidate | Skipped] = [*offered, *(each for each in discovery.skipped if each.is_skill)]
    return Examination(
        hosts=tuple(hosts(home, environ)),
        dialects=Counter(each.dialect for each in offered),
        skipped=Counter(each.code for each in discovery.skipped),
        collisions=tuple(note for note in discovery.notes if note.code in _COLLISIONS),
        readings=tuple(dict.fromkeys(note for each in skills for note in each.notes)),
        conformance=tuple(
            note for path in dict.fromkeys(each.path for each in skills) for note in _conformance(path)
        ),
    )


def hosts(home: str, environ: Mapping[str, str]) -> Iterator[Host]:
    """Yield the clients that are known, found or not."""
    own = config_folder(home, environ)
    yield Host("Claude Code", own, os.path.isdir(own))
    for name, variable, inside in _HOSTS:
        folder = environ.get(variable) or os.path.join(home, inside)
        yield Host(name, folder, os.path.isdir(folder))


def _conformance(path: str) -> Sequence[Note]:
    try:
        front = read_file(path)
    except OSError:
        return []
    return first_notes(check(front, folder=os.path.basename(os.path.dirname(path)), file=path))
