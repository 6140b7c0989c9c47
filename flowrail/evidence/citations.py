"""Citations of code, such as `src/app.py:12` or `src/app.py:12-20 "return total"`, and whether they hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from flowrail.evidence import project_files
from flowrail.evidence.project_files import UnreadableError
from flowrail.text.safe_text import shortened

_CITATION = (  # compiled when it is first used, which few steps do
    r"(?<![\w/.:@-])(?P<file>/?(?:[\w.@+~-]+/)*[\w.@+~-]*[A-Za-z_]):(?P<first>\d+)(?:-(?P<last>\d+))?(?!\w|:\d)"
    r"(?:`?[ \t]*[-\u2013\u2014:,(]?[ \t]*(?:\"(?P<double>[^\"\n]+)\"|“(?P<curly>[^”\n]+)”|(?<=[ \t(])`(?P<code>[^`\n]+)`))?"
)

_NAMES = frozenset({"Makefile", "Dockerfile", "Gemfile", "Rakefile", "Jenkinsfile", "Procfile", "LICENSE"})
"""Files without an extension that are cited from the root of a project."""


class Citation(NamedTuple):
    """Lines of a file, from 1, and the words that are quoted from them."""

    file: str
    first: int
    last: int
    words: str = ""

    def __str__(self) -> str:
        lines = f"{self.first}-{self.last}" if self.last != self.first else str(self.first)
        return f"{self.file}:{lines}"


def citations_in(text: str) -> list[Citation]:
    """Return every citation in *text* once, in order.

    The file has a folder or an extension (`app/run:3`, `app.py:3`), or is a name such as `Makefile`. A host with a
    port (`localhost:8080`, `https://host:80/`) and a word before a number are not citations. Words in quotation marks or
    backticks that follow on the same line are quoted from the cited lines.
    """
    citations = dict.fromkeys(
        Citation(
            match["file"],
            int(match["first"]),
            int(match["last"] or match["first"]),
            match["double"] or match["curly"] or match["code"] or "",
        )
        for match in re.finditer(_CITATION, text)
        if "/" in match["file"] or "." in match["file"].strip(".") or match["file"] in _NAMES
    )
    return list(citations)


def problems_of(folder: str, cited: Iterable[Citation], *, beside: str = "") -> list[str]:
    """Return what is wrong with each citation whose file, line or words do not exist in *folder*.

    A file that is not found there is looked for in the folder of *beside*, the citing file.
    """
    known: dict[str, list[str]] = {}
    problems: list[str] = []
    for citation in cited:
        if citation.file not in known:
            near = os.path.normpath(os.path.join(os.path.dirname(beside), citation.file))
            known[citation.file] = _lines_of(folder, citation.file) or _lines_of(folder, near)
        lines = known[citation.file]
        if not lines:
            problems.append(f"{citation} (no such file from the project root)")
        elif not 1 <= citation.first <= citation.last <= len(lines):
            problems.append(f"{citation} (the file has {len(lines)} lines)")
        elif _plain(citation.words) not in _plain(" ".join(lines[citation.first - 1 : citation.last])):
            problems.append(f"{citation} (it does not contain `{shortened(citation.words, 60)}`)")
    return problems


def _plain(text: str) -> str:
    r"""Return *text* as it is compared: spaces are equal, and so are `|` and `\|`, which a row of a table needs."""
    return " ".join(text.replace(r"\|", "|").split())


def _lines_of(folder: str, path: str) -> list[str]:
    try:
        data = project_files.read(folder, path)
    except UnreadableError:
        return []
    return data.decode("utf-8", "replace").splitlines() if data else []
