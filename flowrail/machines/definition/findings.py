"""What a check found: a code that stays, where, what is so, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from flowrail.command import Command, Hint
from flowrail.errors import FlowError

Path = tuple[str | int, ...]
Locate = Callable[[Path], str]
MOST_FOUND = 5_000
"""So many findings of one rule are told; who mended those is told the rest."""
LARGEST_FOUND = 3_000_000
"""So many characters of findings are told together, and then the first of each rule: ids and names may be long."""

CODES = {
    "FR100": "the file cannot be read as a workflow",
    "FR101": "the entry point is no step",
    "FR102": "a way on leads to a step that does not exist",
    "FR103": "no step ends the workflow",
    "FR104": "a step cannot be reached",
    "FR105": "a handler asks for a value that nothing supplies",
    "FR106": "two steps have one id",
    "FR107": "an id or a name cannot be used",
    "FR108": "no end can be reached from a step",
    "FR109": "a loop has no bound and no way out",
    "FR110": "an outcome that a step may decide on has no way on",
    "FR111": "the default way on is never taken",
    "FR112": "a step has no way on",
    "FR113": "a way on is keyed by something that is no outcome",
    "FR114": "the workflow has no steps",
    "FR115": "a step has no title or nothing to tell",
    "FR116": "a step that may not apply has no way past it",
    "FR117": "a limit cannot work",
    "FR118": "a rule is never tried, or none may hold",
    "FR119": "an expression cannot be read",
    "FR120": "an expression uses a name that nobody declares",
    "FR121": "a text uses a placeholder that nobody declares",
    "FR122": "a parameter or fact is declared so that no value fits",
    "FR123": "an expression can never hold",
    "FR124": "the outcome is decided twice",
    "FR125": "the text of a step is missing",
    "FR126": "a fact is read before any step reports it",
    "FR127": "a text quotes a resource that is not there",
    "FR130": "a key is not known, or its value is of the wrong kind",
    "FR131": "a key stands twice in one mapping",
    "FR140": "agents are to go over something that is no list",
    "FR141": "a variable for an agent cannot be filled",
    "FR142": "a join can never be met",
    "FR143": "a workflow that an agent is to run is not there",
    "FR144": "an agent is told nothing of its work",
    "FR145": "an agent's name looks like a misspelt role",
    "FR146": "a question cannot be asked",
    "FR147": "an answer leads nowhere",
    "FR148": "a gate has no review, or lacks a way on",
    "FR149": "a gate does not lead back to its review",
    "FR150": "a gate's rounds or its policy cannot be",
    "FR151": "the workflow that comes then is not there",
    "FR152": "a `flow:` fence cannot become a block",
    "FR153": "a lease cannot be",
    "FR154": "the work of a step is given twice",
    "FR155": "an agent's workflow takes other parameters",
    "FR156": "a tool cannot be forbidden so",
    "FR160": "agents go over a list that is not reported on every path",
    "FR161": "a placeholder has no value on some path",
    "FR162": "a way on is never decided on",
    "FR163": "a loop has no limit",
    "FR164": "a limit or a text is for a round that never comes",
    "FR165": "a step tells too much at once",
    "FR166": "a text speaks of a step that does not exist",
    "FR167": "a text names an outcome that the step does not take",
    "FR168": "the card departs from the open skill specification",
    "FR169": "the card's commands are not those of the workflow",
    "FR170": "the card's table of steps is not that of the workflow",
    "FR171": "a text that no step tells",
    "FR172": "an exception without effect",
    "FR173": "a loop that every round leaves as it was",
    "FR174": "a workflow that nothing reads",
    "FR175": "too many steps in a row may not apply",
    "FR176": "agents that succeed have no way on",
    "FR177": "a rule or a condition never comes to hold",
    "FR178": "a run comes to a gate without its review",
    "FR179": "no agent is told its item",
    "FR180": "a default that stands in for nothing",
    "FR181": "a text asks for a fact that the step does not take",
    "FR182": "no host finds the skill",
    "FR183": "the card's handoff block is not as the handoff schema has it",
    "FR190": "computed, not read",
}
"""Every code, with what it says in general. Codes are never reused for something else."""


class Finding(NamedTuple):
    """One thing found, in words for the one who mends it."""

    code: str
    severity: str
    message: str
    remedy: str
    place: str
    step: str | None = None

    @property
    def line(self) -> str:
        """The finding as one line."""
        return f"{self.place}: {self.severity} {self.code}: {self.message}; {self.remedy}"


class Raw(NamedTuple):
    """A finding before its place is turned into words."""

    code: str
    path: Path
    message: str
    remedy: str
    step: str | None = None
    severity: str = "error"

    def at(self, place: str) -> Finding:
        """Return the finding with its place in words."""
        return Finding(self.code, self.severity, self.message, self.remedy, place, self.step)


_PLACE = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?: \(.*)?\Z", re.DOTALL)
_Found = TypeVar("_Found", Finding, Raw)


def first(rules: Iterable[Iterable[_Found]]) -> Iterator[_Found]:
    """Yield what each of *rules* finds, as far as that is little enough to be told."""
    left = LARGEST_FOUND
    for found in rules:
        for number, each in enumerate(islice(found, MOST_FOUND)):
            size = len(each.message) + len(each.remedy) + len(each.step or "")
            if size > left and number:
                break
            left -= size
            yield each


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return *findings* by file, in the order in which the files come up, and by line."""
    listed = list(findings)
    files: dict[str, int] = {}
    keys: list[tuple[int, int]] = []
    for finding in listed:
        match = _PLACE.match(finding.place)
        file, line = (match["file"], int(match["line"] or 0)) if match else (finding.place, 0)
        keys.append((files.setdefault(file, len(files)), line))
    return [finding for _, finding in sorted(zip(keys, listed, strict=True), key=lambda pair: pair[0])]


class WorkflowError(FlowError):
    """A workflow with mistakes; all of them, in ``findings``."""

    code = "INVALID_WORKFLOW"

    def __init__(self, name: str, findings: Sequence[Finding]) -> None:
        count = f"{len(findings)} mistake{'s' if len(findings) != 1 else ''}"
        lines = "\n".join(f"  {finding.line}" for finding in findings)
        super().__init__(
            f"workflow `{name}` has {count}\n{lines}",
            hint=Hint("fix the findings, then check again: ", Command("check")),
            workflow=name,
            findings=[finding._asdict() for finding in findings],
        )
        self.findings = tuple(findings)


def raise_errors(name: str, findings: Sequence[Finding]) -> None:
    """Raise one `WorkflowError` if any finding is an error."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise WorkflowError(name, errors)
