"""Findings: a stable code, the place, what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import TypeVar

from flowrail.command import Command, Hint
from flowrail.errors import FlowError
from flowrail.machines.finding_codes import FINDING_CODES
from flowrail.text.safe_text import in_quotes

Path = tuple[str | int, ...]
MOST_FOUND = 5_000
"""Findings of one rule that are reported at once."""


@dataclass(frozen=True)
class Place:
    """Where a finding is: a file in the skill's folder, a line and a column from 1, or 0 if unknown.

    `part` names the part of the workflow in words, if the line alone does not say it.
    """

    file: str
    line: int = 0
    column: int = 0
    part: str = ""

    def __str__(self) -> str:
        file = f"{self.file}{f':{self.line}' if self.line else ''}"
        return f"{file} ({self.part})" if file and self.part else file or self.part

    @classmethod
    def of(cls, origin: str) -> Place:
        """Return the place that an error or the origin of a part names, as in `workflow.py:12`."""
        file, colon, number = origin.rpartition(":")
        return cls(file, int(number)) if colon and number.isdecimal() else cls(origin)


Locate = Callable[[Path], Place]


@dataclass(frozen=True)
class Finding:
    """One finding, worded for the author who fixes it."""

    code: str
    severity: str
    message: str
    remedy: str
    place: Place
    step: str | None = None

    def data(self) -> dict[str, object]:
        """Return the finding as plain data."""
        values = {**asdict(self), "place": str(self.place)}
        return {**values, "file": self.place.file, "line": self.place.line, "column": self.place.column}

    @property
    def line(self) -> str:
        """The finding as one line."""
        return f"{self.place}: {self.severity} {self.code}: {self.message}; {self.remedy}"


@dataclass(frozen=True)
class UnplacedFinding:
    """A finding before its place is turned into words. The table has the severity and the remedy that it does not name."""

    code: str
    path: Path
    message: str
    remedy: str = ""
    step: str | None = None
    severity: str = ""

    @property
    def is_error(self) -> bool:
        """Whether no session may start with it."""
        return (self.severity or FINDING_CODES[self.code].severity) == "error"

    def at(self, place: Place) -> Finding:
        """Return the finding with its place."""
        row = FINDING_CODES[self.code]
        remedy = self.remedy or row.do[0].lower() + row.do[1:].rstrip(".")
        return Finding(self.code, self.severity or row.severity, self.message, remedy, place, self.step)


_AnyFinding = TypeVar("_AnyFinding", Finding, UnplacedFinding)


def first(rules: Iterable[Iterable[_AnyFinding]]) -> Iterator[_AnyFinding]:
    """Yield the first findings of each rule."""
    return chain.from_iterable(islice(findings, MOST_FOUND) for findings in rules)


def name_of(path: Path, step_id: object) -> str:
    """Return a path inside a step, or inside the workflow, in words; positions are counted from 1."""
    words = ".".join(str(part + 1) if isinstance(part, int) else part for part in path)
    inside = f"`{in_quotes(words)}`" if words else ""
    step = f"step `{in_quotes(step_id)}`" if isinstance(step_id, str) else ""
    return " of ".join(filter(None, (inside, step))) or "the file"


def step_index(raw: UnplacedFinding) -> int:
    """Return the index of the step that *raw* is about; -1 if it is about the workflow."""
    is_in_step = len(raw.path) > 1 and raw.path[0] == "steps"
    return raw.path[1] if is_in_step and isinstance(raw.path[1], int) else -1


def in_steps(raws: Iterable[UnplacedFinding], step_ids: Sequence[str | None]) -> Iterator[UnplacedFinding]:
    """Yield each finding with the id of its step; *step_ids* are those of all steps, in order."""
    for raw in raws:
        yield replace(raw, step=[*step_ids, None][step_index(raw)])


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return *findings* sorted by file, in the order of first appearance, and by line."""
    listed = list(findings)
    files = {
        file: number for number, file in enumerate(dict.fromkeys(finding.place.file for finding in listed))
    }
    return sorted(listed, key=lambda finding: (files[finding.place.file], finding.place.line))


class WorkflowError(FlowError):
    """The workflow has errors; ``findings`` lists all of them."""

    code = "INVALID_WORKFLOW"

    def __init__(self, name: str, findings: Sequence[Finding]) -> None:
        count = f"{len(findings)} error{'s' if len(findings) != 1 else ''}"
        lines = "\n".join(f"  {finding.line}" for finding in findings)
        super().__init__(
            f"workflow `{name}` has {count}\n{lines}",
            hint=Hint("fix the findings, then check again: ", Command("check", name)),
            workflow=name,
            findings=[finding.data() for finding in findings],
        )
        self.findings = tuple(findings)


def errors_in(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings because of which no session may start."""
    return [finding for finding in findings if finding.severity == "error"]


def raise_errors(name: str, findings: Sequence[Finding]) -> None:
    """Raise one `WorkflowError` if any finding is an error."""
    if errors := errors_in(findings):
        raise WorkflowError(name, errors)
