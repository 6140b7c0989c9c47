"""Explain a code: of a finding of `flow check`, or of a note about a skill.

The page of a finding is the one in the reference. A wheel contains these pages; a checkout has them in `docs`.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import flowrail
from flowrail.discovery.diagnostics import CODES as NOTES
from flowrail.errors import UsageError
from flowrail.machines.definition.findings import CODES as FINDINGS
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean

PACKAGE = os.path.dirname(flowrail.__file__)
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_LAST_LINK = re.compile(r"\n\[All findings\]\(.*\)\n*\Z")


class Explanation(NamedTuple):
    """A code and its page in Markdown."""

    code: str
    kind: str
    page: str


class UnknownCodeError(UsageError):
    """No finding and no note about a skill has this code."""

    code = "UNKNOWN_CODE"


def explain(code: str) -> Explanation:
    """Return the explanation of *code*, which may be in small letters."""
    wanted = code.upper()
    if wanted in FINDINGS:
        return Explanation(wanted, "finding", _finding_page(wanted))
    if wanted in NOTES:
        note = NOTES[wanted]
        text = f"`flow discover` and `flow doctor` report it: {note.severity}.\n\nWhat to do: {note.hint}."
        return Explanation(wanted, "note", f"# {wanted}\n\n{text}\n")
    raise UnknownCodeError(
        f"unknown code `{code[:40]}`",
        hint=did_you_mean(wanted[:40], known_codes(), "`flow check` prints codes such as FR163"),
        name=code[:40],
    )


def known_codes() -> list[str]:
    """Return every code that can be explained."""
    return [*FINDINGS, *NOTES]


def _finding_page(code: str) -> str:
    installed = os.path.join(PACKAGE, "findings")
    checkout = os.path.join(os.path.dirname(PACKAGE), "docs", "reference", "findings")
    folder = installed if os.path.isdir(installed) else checkout
    data = read_bounded(os.path.join(folder, f"{code}.md"), limit=limits.TEXT_BYTES, what="the page")
    return _LAST_LINK.sub("", _COMMENT.sub("", data.decode()))
