"""Check a payload without its handoff, and show it in another version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from flowrail.formatters.reports.handoff import check_report, conversion_notes
from flowrail.handoff.errors import EXPIRED, payload_refusal
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.check import CheckedPayload, CheckRules, check_payload
from flowrail.handoff.payload.convert import ConvertedPayload, convert
from flowrail.handoff.payload.document import Payload, read_file, render
from flowrail.machines.frozen import INTERNAL
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.text.report import Line, Report
from flowrail.text.safe_text import json_visible


@dataclass(frozen=True)
class PayloadCheck(CheckedPayload):
    """What is wrong with a payload, and the payload in the version that was asked for."""

    valid: bool = False
    """Whether no problem is an error."""
    sha256: str = ""
    """The digest of the file."""
    tokens: Mapping[str, int] | None = None
    """The tokens of each tier of a 3.0 payload."""
    converted: ConvertedPayload | None = None
    """The payload in the version that was asked for, if it is valid. It gets a new expiry if the old one passed."""
    source: str = field(default="", metadata=INTERNAL)

    @property
    def exit_status(self) -> int:
        """1 if the payload has an error."""
        return 0 if self.valid else 1

    def report(self) -> Report:
        """Return the converted document, or the problems of the payload."""
        if self.converted is not None:
            document = render(self.converted.version, self.converted.handoff).decode()
            return [Line((json_visible(text),), wraps=False) for text in document.splitlines()]
        tiers = ", ".join(f"{tier} {number}" for tier, number in (self.tokens or {}).items())
        total = sum((self.tokens or {}).values())
        tokens = [f"tokens: {tiers}, {total} in total"] if tiers else []
        return [*tokens, *check_report(self, self.source)]


@operation("handoff check", "flow handoff check handoff-payload.yaml")
def check_file(
    environment: Environment,
    file: Annotated[str, Help("The payload.", metavar="FILE")],
    *,
    to: Annotated[Literal["1.0", "2.0", "3.0"] | None, Help("Print the payload in this version.")] = None,
    strict_v2: Annotated[bool, Help("Require the one source that the published 2.0 schema allows.")] = False,
) -> PayloadCheck:
    """List every problem of a payload, or print it in another version

    Detects the version, then checks shape, related fields, hash, expiry and chain. Exits 1 on any
    error; warnings do not count. With --to, the fields that are added and lost are listed on stderr,
    and an expired payload gets a new expiry.
    """
    now, payload = environment.moment, read_file(os.path.abspath(file))
    rules = CheckRules(now, strict_v2=strict_v2, allow_expired=to is not None)
    checked = check_payload(payload, rules)
    converted = None
    if to is not None and not checked.errors:
        converted = convert(payload.version, payload.handoff, to, now=now)
        document = Payload(to, converted.handoff, file, render(to, converted.handoff))
        found = check_payload(document, rules).errors
        if errors := [problem for problem in found if problem.kind != EXPIRED]:
            hint = "fix the payload that it is made from"
            raise payload_refusal(f"the payload is not valid as {to}", errors, hint=hint)
        for note in conversion_notes(converted):
            environment.tell(note)
    tokens = integrity.tiers(payload.handoff) if checked.version == "3.0" else None
    return PayloadCheck(
        **vars(checked),
        valid=not checked.errors,
        sha256=payload.digest,
        tokens=tokens,
        converted=converted,
        source=file,
    )
