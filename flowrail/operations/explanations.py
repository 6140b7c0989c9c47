"""Explain a code: of a finding of `flow check`, or of an error.

The texts about findings are those in the reference. A wheel contains them; a checkout has them in `docs`.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import flowrail
from flowrail.command import Command, Hint
from flowrail.error_codes import CODES
from flowrail.errors import UsageError
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean

PACKAGE = os.path.dirname(flowrail.__file__)
_FINDING = re.compile(r"^\| (FR\d+) \| (.+) \| (.+) \|$", re.MULTILINE)


class Explanation(NamedTuple):
    """A code and its page in Markdown."""

    code: str
    kind: str
    page: str


class ListedCode(NamedTuple):
    """A code, its kind, and a sentence about it: when it occurs."""

    code: str
    kind: str
    about: str


def explain(code: str) -> Explanation:
    """Return the explanation of *code*, which may be in small letters."""
    wanted = code.upper()
    if wanted in (findings := _findings()):
        when, remedy = findings[wanted]
        text = f"A finding of `flow check`. {when}\n\nWhat to do: {remedy}"
        return Explanation(wanted, "finding", f"# {wanted}\n\n{text}\n")
    if wanted in CODES:
        row = CODES[wanted]
        text = f"An error, with exit status {row.exit_status}. {row.when}\n\nWhat to do: {row.do}"
        return Explanation(wanted, "error", f"# {wanted}\n\n{text}\n")
    raise UsageError(
        f"unknown code `{code[:40]}`",
        code="UNKNOWN_CODE",
        hint=did_you_mean(wanted[:40], known_codes(), Hint("list the codes: ", Command("explain"))),
        name=code[:40],
    )


def known_codes() -> list[str]:
    """Return every code that can be explained."""
    return [listed.code for listed in listed_codes()]


def listed_codes() -> list[ListedCode]:
    """Return every code that can be explained, with its meaning: findings, then errors."""
    return [
        *(ListedCode(code, "finding", when) for code, (when, _) in _findings().items()),
        *(ListedCode(code, "error", row.when) for code, row in sorted(CODES.items())),
    ]


def _findings() -> dict[str, tuple[str, str]]:
    """Return when each finding is reported and what to do, by its code."""
    return {code: (when, remedy) for code, when, remedy in _FINDING.findall(_reference("findings.md"))}


def _reference(name: str) -> str:
    installed = os.path.join(PACKAGE, "reference")
    checkout = os.path.join(os.path.dirname(PACKAGE), "docs", "reference")
    folder = installed if os.path.isdir(installed) else checkout
    return read_bounded(os.path.join(folder, name), limit=limits.TEXT_BYTES, what="the page").decode()
