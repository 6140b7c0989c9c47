"""Findings: a stable code, the place, what is wrong, and what to do about it; and suppressions of warnings."""

# Without `from __future__ import annotations`: texts would be compiled at every start.

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from flowrail.command import Command, Hint
from flowrail.errors import FlowError

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Suppression

Path = tuple[str | int, ...]
MOST_FOUND = 5_000
"""Findings of one rule that are reported at once."""
LARGEST_FOUND = 3_000_000
"""Characters of findings that are reported together. The first finding of each rule is always reported."""

CODES = {
    "FR100": "the file cannot be read as a workflow",
    "FR101": "the entry step does not exist",
    "FR102": "a transition leads to a step that does not exist",
    "FR103": "no step ends the workflow",
    "FR104": "a step cannot be reached",
    "FR105": "a handler needs a value that nothing provides",
    "FR106": "two steps have the same id",
    "FR107": "an id or a name is invalid",
    "FR108": "a step cannot reach an end",
    "FR109": "a loop has no limit and no exit",
    "FR110": "a step can decide on an outcome without a transition",
    "FR111": "the default transition is never taken",
    "FR112": "a step has no transition",
    "FR113": "a transition has an unknown outcome",
    "FR114": "the workflow has no steps",
    "FR115": "a step has no title or no instructions",
    "FR116": "a conditional step has no transition for when it does not apply",
    "FR117": "a limit cannot work",
    "FR118": "a rule is never tried, or no rule may match",
    "FR119": "an expression is invalid",
    "FR120": "an expression uses an undeclared name",
    "FR121": "a text uses an undeclared placeholder",
    "FR122": "a parameter or fact is declared so that no value is valid",
    "FR123": "an expression is never true",
    "FR124": "the outcome is decided twice",
    "FR125": "the instructions of a step are missing",
    "FR126": "a fact is read before any step reports it",
    "FR127": "a text quotes a missing resource",
    "FR128": "a function cannot be called by a step",
    "FR130": "a key is unknown, or its value has the wrong type",
    "FR140": "dispatches go over something that is not a list",
    "FR141": "a variable of a dispatch cannot be filled",
    "FR142": "a join can never be met",
    "FR143": "the workflow of a dispatch is missing",
    "FR144": "a dispatch has no instructions",
    "FR145": "an agent's name looks like a misspelt role",
    "FR146": "a question is invalid",
    "FR147": "an answer leads nowhere",
    "FR148": "a gate has no review, or lacks a transition",
    "FR149": "a gate does not lead back to its review",
    "FR150": "a gate's limit or policy is invalid",
    "FR151": "the workflow in `then` is missing",
    "FR152": "a `flow:` fence cannot become a block",
    "FR153": "a lease is invalid",
    "FR154": "the work of a step is dispatched twice",
    "FR155": "a dispatch does not fit the workflow that it runs",
    "FR156": "a rule in `forbids` is invalid",
    "FR157": "a check of `evidence` is invalid",
    "FR158": "the folder for working files is invalid",
    "FR159": "a command of a step is invalid",
    "FR160": "dispatches go over a list that is not reported on every path",
    "FR161": "a placeholder has no value on some path",
    "FR162": "a transition is never taken",
    "FR163": "a loop has no limit",
    "FR164": "a limit or a text is for an attempt that never happens",
    "FR165": "a step has too much text",
    "FR166": "a text names a step that does not exist",
    "FR167": "a text names an outcome that the step does not accept",
    "FR168": "SKILL.md departs from the open skill specification",
    "FR169": "the commands in SKILL.md are not those of the workflow",
    "FR171": "a text file that no step uses",
    "FR172": "a suppression without effect",
    "FR173": "a loop that changes nothing",
    "FR174": "a workflow that nothing reads",
    "FR176": "a step with dispatches has no transition for success",
    "FR177": "a rule or a condition is never true",
    "FR178": "a session can reach a gate without its review",
    "FR179": "dispatches over a list do not mention the item",
    "FR180": "a default without effect",
    "FR181": "a text asks for a fact that the step does not accept",
    "FR182": "agents cannot discover the skill",
    "FR183": "the handoff block in SKILL.md does not match the handoff schema",
    "FR184": "a check of `evidence` proves little",
}
"""Every code with its general meaning. Codes are never reused for another meaning."""


class Place(NamedTuple):
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
    def of(cls, origin: str) -> "Place":
        """Return the place that an error or the origin of a part names, as in `workflow.py:12`."""
        file, colon, number = origin.rpartition(":")
        return cls(file, int(number)) if colon and number.isdecimal() else cls(origin)


Locate = Callable[[Path], Place]


class Finding(NamedTuple):
    """One finding, worded for the author who fixes it."""

    code: str
    severity: str
    message: str
    remedy: str
    place: Place
    step: str | None = None

    def data(self) -> dict[str, object]:
        """Return the finding as plain data."""
        values = {**self._asdict(), "place": str(self.place)}
        return {**values, "file": self.place.file, "line": self.place.line, "column": self.place.column}

    @property
    def line(self) -> str:
        """The finding as one line."""
        return f"{self.place}: {self.severity} {self.code}: {self.message}; {self.remedy}"


class UnplacedFinding(NamedTuple):
    """A finding before its place is turned into words."""

    code: str
    path: Path
    message: str
    remedy: str
    step: str | None = None
    severity: str = "error"

    def at(self, place: Place) -> Finding:
        """Return the finding with its place."""
        return Finding(self.code, self.severity, self.message, self.remedy, place, self.step)


_AnyFinding = TypeVar("_AnyFinding", Finding, UnplacedFinding)


def first(rules: Iterable[Iterable[_AnyFinding]]) -> Iterator[_AnyFinding]:
    """Yield the findings of *rules*, up to a maximum number."""
    left = LARGEST_FOUND
    for findings in rules:
        for number, finding in enumerate(islice(findings, MOST_FOUND)):
            size = len(finding.message) + len(finding.remedy) + len(finding.step or "")
            if size > left and number:
                break
            left -= size
            yield finding


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


def raise_errors(name: str, findings: Sequence[Finding]) -> None:
    """Raise one `WorkflowError` if any finding is an error."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise WorkflowError(name, errors)


def without_suppressed(findings: Iterable[Finding], suppressions: Iterable["Suppression"]) -> list[Finding]:
    """Return *findings* without the suppressed ones, and the problems of the suppressions themselves."""
    listed = list(findings)
    errors = {key for finding in listed if finding.severity == "error" for key in _keys(finding)}
    keys = {key for finding in listed for key in _keys(finding)}
    suppressed: set[tuple[str, str | None]] = set()
    problems: list[Finding] = []
    for suppression in suppressions:
        key = suppression.code, suppression.step
        problem = _problem(suppression, is_error=key in errors, is_used=key in keys)
        if problem is None:
            suppressed.add(key)
        else:
            place = Place.of(suppression.origin)
            problems.append(Finding("FR172", "warning", *problem, place, suppression.step))
    return [*(finding for finding in listed if suppressed.isdisjoint(_keys(finding))), *problems]


def _keys(finding: Finding) -> set[tuple[str, str | None]]:
    """Return the keys of the suppressions that match *finding*: its code, everywhere or in its step."""
    return {(finding.code, None), (finding.code, finding.step)}


def _problem(suppression: "Suppression", *, is_error: bool, is_used: bool) -> tuple[str, str] | None:
    if suppression.code not in CODES:
        return f"unknown code `{suppression.code[:20]}`", "see the findings reference"
    if not suppression.reason.strip():
        return f"{suppression.code} is suppressed without a reason", "add a reason"
    if is_error:
        return f"{suppression.code} is an error and cannot be suppressed", "fix the error"
    if not is_used:
        where = f" of step `{suppression.step}`" if suppression.step else ""
        return f"found no {suppression.code}{where} to suppress", "remove the suppression"
    return None
