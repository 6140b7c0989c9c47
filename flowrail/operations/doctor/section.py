"""What an examination looks at, and one section of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.text.report import short_path


class DoctorContext(NamedTuple):
    """Everything that an examination may look at."""

    cwd: str
    home: str
    environ: Mapping[str, str]
    state: str
    store: str
    extra: Sequence[str] = ()
    now: str = ""

    def short(self, path: str) -> str:
        """Return a path as people read it: from the current folder, or from home."""
        return short_path(path, self.cwd, self.home)


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
