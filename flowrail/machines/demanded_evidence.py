"""Evidence that a step demands, and its commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from flowrail.machines.frozen import Definition, Frozen, Scalar, freeze_items, put
from flowrail.text.validation import Bounds

MOST_REFUSALS = 3
"""The number of refusals in one attempt after which the user is asked."""
DEFAULT_TIMEOUT = 3600.0
PER_ATTEMPT = "attempt"
"""The value of `once` for a command that runs once each time that its step is entered."""


class Verdict(StrEnum):
    """The result of a check. ``PASS`` and ``WAIVED`` satisfy it."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    MISSING = "missing"
    STALE = "stale"
    UNKNOWN = "unknown"
    WAIVED = "waived"


@dataclass(frozen=True)
class Evidence(Definition):
    """One item of the evidence for an outcome. It has exactly one of `file`, `files`, `command`, `review`, `person`.

    Paths are relative to the project and may contain $notes, $work and facts. A pattern matches as in a shell; ** matches
    any number of folders.
    """

    id: str
    """A name for it: lower-case letters, digits and underscores."""
    file: str | None = None
    """A file that must exist."""
    files: str | None = None
    """A pattern that files must match, such as reports/*.md."""
    changed: bool = False
    """For `file` and `files`: the content must have changed since the step was entered, not only its white space."""
    contains: Sequence[str] = ()
    """For `file` and `files`: texts that each file must contain; `$name` is filled."""
    min_bytes: Annotated[int, Bounds(ge=1)] = 1
    """For `file` and `files`: the smallest size of each file."""
    section: str | None = None
    """For `file` and `files`: the heading of the part to look at, such as ## Evidence. The part must not be empty."""
    items: str | None = None
    """For `file` and `files`: a capital letter. The part must have items with the ids E1, E2, … at the start of lines,
    rows or headings. With `citations`, each item must cite a line and quote words of it."""
    covers: str | None = None
    """For `file` and `files`: a heading of the same file, or another file. The part must name every item that begins
    there; with `items`, those of that letter."""
    citations: bool = False
    """For `file` and `files`: each file must cite lines as FILE:LINE "words", from the project root or from the folder of
    the citing file. Every cited line must exist, and contain the words. A line without words does not count."""
    at_least: Annotated[int, Bounds(ge=1)] = 1
    """For `items` and `citations`: how many each file must contain. Otherwise, for `files`: how many must match."""
    command: str | None = None
    """A command of the step that must have passed, with the files that it reads as they are now."""
    review: Literal["submitted", "resolved"] | None = None
    """A review: `submitted` if its findings must be recorded, `resolved` if none may be open."""
    person: str | None = None
    """What a person must confirm with `flow approve`."""

    @property
    def kinds(self) -> list[str]:
        """The kinds that the check has: exactly one if it is valid."""
        return [kind for kind in KINDS if getattr(self, kind) is not None]

    @property
    def kind(self) -> str:
        """The kind of the check."""
        return self.kinds[0]


KINDS = ("file", "files", "command", "review", "person")


@dataclass(frozen=True)
class CommandFact(Definition):
    """A fact in the output of a command."""

    match: str
    """The regular expression that finds it in a line, with the value in parentheses: (\\d+) failed. The last line that
    matches counts."""
    default: Scalar | None = None
    """The value if no line matches and the command passed. Without it, the fact is missing then."""


@dataclass(frozen=True)
class StepCommand(Definition):
    """A command that `flow run NAME` runs, after a person approved it with `flow trust`. It is not run in a shell."""

    run: Sequence[str]
    """The program and its arguments. Each $name becomes one argument, which may begin with `-` only after `--`."""
    once: bool | Literal["attempt"] = False
    """Whether it runs only once per session with the same arguments; with `attempt`, once each time that the step is
    entered."""
    reads: Sequence[str] = ()
    """Patterns of the files that the result depends on. By default, a result counts until the session advances."""
    timeout: Annotated[float, Bounds(gt=0)] = DEFAULT_TIMEOUT
    """The seconds after which it is stopped. By default 3600."""
    facts: Mapping[str, CommandFact] = Frozen()
    """Facts in its output, which `from: NAME.FACT` in `reports` takes."""

    @property
    def outlasts_step(self) -> bool:
        """Whether a run still counts after the session advanced: because of `once`, or until a file in `reads` changes."""
        return self.once is True or bool(self.reads and self.once != PER_ATTEMPT)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, run=freeze_items(self.run))
