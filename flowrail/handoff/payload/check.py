"""Check a payload without its handoff, and show it in another version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from flowrail.handoff.errors import EXPIRED, PayloadProblem, errors, payload_refusal
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.convert import ConvertedPayload, convert
from flowrail.handoff.payload.document import DEFAULT_FORM, read, read_file, render
from flowrail.handoff.payload.validate import ValidationRules, validate


@dataclass(frozen=True)
class CheckedPayload:
    """What is wrong with a payload, and the payload in the version that was asked for."""

    version: str | None
    """The version of the document; `None` if it is not a payload."""

    valid: bool
    """Whether no problem is an error."""

    findings: tuple[PayloadProblem, ...]
    """Errors and warnings."""

    sha256: str
    """The digest of the file."""

    ignored: tuple[str, ...]
    """The fields that the version does not define."""

    tokens: Mapping[str, int] | None
    """The tokens of each tier of a 3.0 payload."""

    converted: ConvertedPayload | None = None
    """The payload in the version that was asked for, if it is valid. It gets a new expiry if the old one passed."""

    text: str = ""
    """The converted payload as a document."""


def check_payload(path: str, *, now: datetime, strict_v2: bool = False, to: str = "") -> CheckedPayload:
    """Return every problem of the payload at *path*, and the payload as version *to*."""
    payload = read_file(path)
    rules = ValidationRules(now, strict_v2=strict_v2, allow_expired=bool(to))
    result = validate(payload, rules)
    valid = not errors(result.problems)
    converted, text = None, ""
    if to and valid:
        converted = convert(payload.version, payload.handoff, to, now=now)
        data = render(converted.handoff, DEFAULT_FORM[to])
        found = errors(validate(read(data, source=path), rules).problems)
        if problems := [problem for problem in found if problem.kind != EXPIRED]:
            hint = "fix the payload that it is made from"
            raise payload_refusal(f"the payload is not valid as {to}", problems, hint=hint)
        text = data.decode()
    return CheckedPayload(
        result.version or None,
        valid,
        result.problems,
        payload.digest,
        result.ignored,
        integrity.tiers(payload.handoff) if result.version == "3.0" else None,
        converted,
        text,
    )
