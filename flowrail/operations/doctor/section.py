"""What an examination looks at and what it tells, part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.discovery.locations import AskGit
from flowrail.machines.definition.findings import Finding


class DoctorContext(NamedTuple):
    """Where one stands: everything that an examination may look at."""

    cwd: str
    home: str
    environ: Mapping[str, str]
    state: str
    store: str
    extra: Sequence[str] = ()
    ask_git: AskGit | None = None


class Section(NamedTuple):
    """One part of the examination: facts to read, what was found, and the same as plain data."""

    name: str
    facts: Sequence[str]
    findings: Sequence[Finding]
    data: Mapping[str, Any]


def guarded(name: str, examine_it: Callable[[], Section]) -> Section:
    """Return the section, or that what it needs cannot be imported: this is for broken set-ups too."""
    try:
        return examine_it()
    except ImportError as error:
        finding = Finding("CANNOT_IMPORT", "error", str(error), "install flowrail again", "")
        return Section(name, ["not looked at"], [finding], {})


def count(number: int, what: str) -> str:
    """Return a number of things, with an ``s`` where it wants one."""
    return f"{number} {what}{'' if number == 1 else 's'}"
