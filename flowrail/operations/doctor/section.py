"""One section of an examination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.operations.environment import Environment
from flowrail.text.report import short_path


class SetupFinding(NamedTuple):
    """One finding about the set-up; *place* is a file, a folder or a session, or empty."""

    code: str
    severity: str
    message: str
    remedy: str
    place: str
    step: str | None = None


class Section(NamedTuple):
    """One section: facts to read, findings, and the same as plain data."""

    name: str
    facts: Sequence[str]
    findings: Sequence[SetupFinding]
    data: Mapping[str, Any]


def short(path: str, environment: Environment) -> str:
    """Return a path as people read it: from the current folder, or from home."""
    return short_path(path, environment.cwd, environment.home)
