"""Generated blocks in a Markdown file, between a pair of comments that name them.

<!-- flow:steps -->
…
<!-- /flow:steps -->
"""

from __future__ import annotations

import re

from flowrail.errors import DocumentError


class NoMarkersError(DocumentError):
    """The file does not hold that block exactly once."""

    code = "NO_MARKERS"


def block(text: str, name: str, *, source: str) -> str:
    """Return what stands between the markers of *name*."""
    return _found(text, name, source).group("inside").strip("\n")


def replaced(text: str, name: str, content: str, *, source: str) -> str:
    """Return *text* with *content* between the markers of *name*; everything else stays as it is."""
    found = _found(text, name, source)
    return f"{text[: found.start('inside')]}\n{content}\n{text[found.end('inside') :]}"


def _found(text: str, name: str, source: str) -> re.Match[str]:
    pattern = re.compile(
        rf"^<!-- flow:{re.escape(name)} -->(?P<inside>.*?)^<!-- /flow:{re.escape(name)} -->$",
        re.DOTALL | re.MULTILINE,
    )
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise NoMarkersError(
            f"holds the block `{name}` {len(found)} times" if found else f"has no block `{name}`",
            hint=f"write once <!-- flow:{name} --> and <!-- /flow:{name} -->, each on a line of its own",
            place=source,
        )
    return found[0]
