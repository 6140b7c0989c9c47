"""What an examination looks at, and one section of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.machines.definition.findings import Finding


class DoctorContext(NamedTuple):
    """Everything that an examination may look at."""

    cwd: str
    home: str
    environ: Mapping[str, str]
    state: str
    store: str
    extra: Sequence[str] = ()


class Section(NamedTuple):
    """One section: facts to read, findings, and the same as plain data."""

    name: str
    facts: Sequence[str]
    findings: Sequence[Finding]
    data: Mapping[str, Any]


def guarded(name: str, examine: Callable[[], Section]) -> Section:
    """Return the section, or the finding that a module it needs cannot be imported.

    `flow doctor` has to report on an installation in which a dependency is missing.
    """
    try:
        return examine()
    except ImportError as error:
        finding = Finding("CANNOT_IMPORT", "error", str(error), "install flowrail again", "")
        return Section(name, ["not examined"], [finding], {})
