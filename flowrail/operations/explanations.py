"""Explain a code: of a finding of `flow check`, or of an error.

The reference prints the same rows of the two tables.
"""

from __future__ import annotations

from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.error_codes import CODES
from flowrail.errors import UsageError
from flowrail.machines.definition.finding_codes import FINDING_CODES
from flowrail.text.phrases import did_you_mean


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
    if wanted in FINDING_CODES:
        finding = FINDING_CODES[wanted]
        text = f"A finding of `flow check`. {finding.when}\n\nWhat to do: {finding.do}"
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
        *(ListedCode(code, "finding", row.when) for code, row in FINDING_CODES.items()),
        *(ListedCode(code, "error", row.when) for code, row in sorted(CODES.items())),
    ]
