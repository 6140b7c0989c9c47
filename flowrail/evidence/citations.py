"""Citations of code, such as `src/app.py:12` or `src/app.py:12-20`, and whether the cited lines exist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from flowrail.evidence import project_files
from flowrail.evidence.project_files import UnreadableError

_CITATION = re.compile(
    r"(?<![\w/.:@-])(?P<file>/?(?:[\w.@+~-]+/)*[\w.@+~-]*[A-Za-z_]):(?P<first>\d+)(?:-(?P<last>\d+))?(?!\w|:\d)"
)

_NAMES = frozenset({"Makefile", "Dockerfile", "Gemfile", "Rakefile", "Jenkinsfile", "Procfile", "LICENSE"})
"""Files without an extension that are cited from the root of a project."""


class CitedLine(NamedTuple):
    """A file and the last line that a citation names, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def cited_lines(text: str) -> list[CitedLine]:
    """Return every citation in *text* once, in order.

    The file has a folder or an extension (`app/run:3`, `app.py:3`), or is a name such as `Makefile`. A host with a
    port (`localhost:8080`, `https://host:80/`) and a word before a number are not citations.
    """
    citations = dict.fromkeys(
        CitedLine(match["file"], int(match["last"] or match["first"]))
        for match in _CITATION.finditer(text)
        if "/" in match["file"] or "." in match["file"].strip(".") or match["file"] in _NAMES
    )
    return list(citations)


def missing(folder: str, cited: Iterable[CitedLine]) -> list[str]:
    """Return the citations whose file or line does not exist in *folder*."""
    lengths: dict[str, int] = {}
    wrong: list[str] = []
    for citation in cited:
        if citation.file not in lengths:
            lengths[citation.file] = _number_of_lines(folder, citation.file)
        if not lengths[citation.file]:
            wrong.append(f"{citation} (no such file from the project root)")
        elif not 1 <= citation.line <= lengths[citation.file]:
            wrong.append(str(citation))
    return wrong


def _number_of_lines(folder: str, path: str) -> int:
    try:
        data = project_files.read(folder, path)
    except UnreadableError:
        return 0
    return len(data.splitlines()) if data else 0
