"""What an author knows better: warnings that a file lets pass, each by its code and with a reason.

    ignore:
      - {code: FR163, step: look, reason: the agent ends it by its own judgement}

In Python a comment says the same: ``# flow: ignore FR163 of look: the agent ends it …``. An error is never
let pass, and an exception that nothing falls under is itself a finding.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import re
from collections.abc import Iterable
from dataclasses import field
from typing import Annotated

from flowrail.machines.definition.findings import CODES, Finding
from flowrail.machines.definition.keys import DefinitionPart, Key

_COMMENT = rb"(?m)^[ \t]*#[ \t]*flow: ignore (FR\d+)(?: of ([\w-]+))?[ \t]*:?[ \t]*(.*)$"


class Suppression(DefinitionPart):
    """Warnings of one code, of one step or of all, that an author accepts, and why."""

    code: Annotated[str, Key("The code, such as FR163.", is_name=True)]
    reason: Annotated[str, Key("Why the warning is accepted.", schema={"minLength": 1})]
    step: Annotated[str | None, Key("Only for this step.", is_name=True)] = None
    origin: str = field(default="", repr=False, compare=False)

    def covers(self, finding: Finding) -> bool:
        """Return whether *finding* is one of those."""
        return finding.code == self.code and self.step in {None, finding.step}


def commented(data: bytes, source: str) -> tuple[Suppression, ...]:
    """Return the exceptions in the comments of a Python file."""
    found = []
    for match in re.finditer(_COMMENT, data):
        line = data.count(b"\n", 0, match.start()) + 1
        code, step, reason = (part.decode("utf-8", "replace") if part else "" for part in match.groups())
        found.append(Suppression(code, reason.strip(), step or None, f"{source}:{line}"))
    return tuple(found)


def applied(findings: Iterable[Finding], exceptions: Iterable[Suppression]) -> list[Finding]:
    """Return *findings* without those let pass, and what is wrong with the exceptions themselves."""
    kept: dict[int, Finding] = {}
    covered: dict[tuple[str, str | None], dict[int, Finding]] = {}
    errors: set[tuple[str, str | None]] = set()

    def put(number: int, finding: Finding) -> None:
        kept[number] = finding
        for key in {(finding.code, None), (finding.code, finding.step)}:
            covered.setdefault(key, {})[number] = finding
            if finding.severity == "error":
                errors.add(key)

    for number, finding in enumerate(findings):
        put(number, finding)
    for number, each in enumerate(exceptions, start=len(kept)):
        key = each.code, each.step
        problem = _problem(each, is_error=key in errors, is_there=bool(covered.get(key)))
        if problem is not None:
            what, hint = problem
            put(number, Finding("FR172", "warning", what, hint, each.origin, each.step))
            continue
        for gone, finding in [*covered[key].items()]:
            del kept[gone]
            for other in {(finding.code, None), (finding.code, finding.step)}:
                del covered[other][gone]
    return [*kept.values()]


def _problem(each: Suppression, *, is_error: bool, is_there: bool) -> tuple[str, str] | None:
    if each.code not in CODES:
        return f"unknown code `{each.code[:20]}`", "see the findings reference"
    if not each.reason.strip():
        return f"{each.code} is suppressed without a reason", "add a reason"
    if is_error:
        return f"{each.code} is an error and cannot be suppressed", "fix the error"
    if not is_there:
        where = f" of step `{each.step}`" if each.step else ""
        return f"found no {each.code}{where} to suppress", "remove the suppression"
    return None
