"""Explain a code: of a finding of `flow check`, or of an error.

The reference prints the same rows of the two tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from flowrail.command import Command, Hint
from flowrail.error_codes import CODES
from flowrail.machines.finding_codes import FINDING_CODES
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.text.report import Report, Table, columns, title
from flowrail.text.unknown_names import unknown


@dataclass(frozen=True)
class ExplainedCode:
    """A code and what it means."""

    code: str
    kind: str
    """A finding or an error."""
    about: str
    """When it occurs."""
    remedy: str
    """What to do."""


@dataclass(frozen=True)
class Explanation:
    """One code, or all of them."""

    codes: tuple[ExplainedCode, ...]
    """The codes of findings, then those of errors."""

    def report(self) -> Report:
        """Return what a person reads."""
        if len(self.codes) == 1:
            (code,) = self.codes
            return [title(f"{code.code}: {code.kind}"), code.about, f"What to do: {code.remedy}"]
        rows = [[code.code, code.kind, code.about] for code in self.codes]
        return [Table(columns("code", "kind", "about", wraps=("about",)), rows)]


@operation("explain", "flow explain FR163", "flow explain")
def explain(
    environment: Environment,
    code: Annotated[str | None, Help("The code of a finding or an error.")] = None,
) -> Explanation:
    """Explain the code of a finding or an error, or list the codes"""
    del environment
    codes = known_codes()
    if code is None:
        return Explanation(tuple(codes.values()))
    wanted = code.upper()
    if wanted not in codes:
        raise unknown(
            "code", code, codes, code="UNKNOWN_CODE", otherwise=Hint("list the codes: ", Command("explain"))
        )
    return Explanation((codes[wanted],))


def known_codes() -> dict[str, ExplainedCode]:
    """Return every code that can be explained: findings, then errors."""
    findings = {
        code: ExplainedCode(code, "finding", row.when, _without_links(row.do))
        for code, row in FINDING_CODES.items()
    }
    errors = {
        code: ExplainedCode(code, "error", f"Exit status {row.exit_status}. {row.when}", row.do)
        for code, row in sorted(CODES.items())
    }
    return findings | errors


def _without_links(text: str) -> str:
    """Return a text of the reference for a terminal: a link to another page is its title, others show their address."""
    return re.sub(
        r"\[([^]]+)\]\((https://[^)]+)?[^)]*\)", lambda link: " ".join(filter(None, link.groups())), text
    )
