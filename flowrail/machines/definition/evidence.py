"""Evidence: the checks that a step demands, the level that a result must have, and the records of a session.

A session records baselines, runs of commands, confirmations of a person, and results.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Final, NamedTuple

from flowrail.machines.definition.parts import DefinitionPart, Frozen, Key, freeze, freeze_items

CHECK_ID = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
DEFAULT_TIMEOUT = 600.0
DEFAULT_TRIES = 3
"""The number of refusals in one attempt after which a person is asked."""


class Level(StrEnum):
    """How far a check was verified, from the agent's word to a person's confirmation."""

    CLAIMED = "claimed"
    OBSERVED = "observed"
    CHECKED = "checked"
    APPROVED = "approved"

    @property
    def rank(self) -> int:
        """The position of the level; a higher level satisfies a lower one."""
        return _RANKS[self]


_RANKS: Final = {level: rank for rank, level in enumerate(Level)}


class Verdict(StrEnum):
    """The result of a check. Only `pass` passes."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    ERROR = "error"
    STALE = "stale"
    EMPTY = "empty"
    NOT_RUN = "not_run"


class GitCondition(DefinitionPart):
    """The changes that the git working tree must contain since the step was entered."""

    changed_at_least: Annotated[
        int,
        Key(
            "How many files must have changed, new and deleted ones included.",
            schema={"minimum": 0},
            code="FR157",
        ),
    ] = 1
    within: Annotated[Sequence[str], Key("Patterns such as src/**. No other file may have changed.")] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", freeze_items(self.within))


class EvidenceCheck(DefinitionPart):
    """One item of the evidence for an outcome. It has exactly one of `file`, `files`, `json`, `git`, `records`, `run`.

    Paths are relative to the project and may contain $notes, $work and facts. A pattern matches as in a shell; ** matches
    any number of folders.
    """

    id: Annotated[str, Key("A name for it: lower-case letters, digits and underscores.", is_name=True)]
    file: Annotated[str | None, Key("A file that must exist.")] = None
    files: Annotated[str | None, Key("A pattern that files must match, such as reports/*.md.")] = None
    json: Annotated[str | None, Key("A JSON file that must match `schema`.")] = None
    git: Annotated[GitCondition | None, Key("Changes that the git working tree must contain.")] = None
    records: Annotated[
        Mapping[str, str],
        Key(
            "Records that the session must contain: `review: submitted`, or `findings: resolved`.",
            schema={
                "properties": {"review": {"const": "submitted"}, "findings": {"const": "resolved"}},
                "additionalProperties": False,
            },
        ),
    ] = Frozen()
    run: Annotated[
        Sequence[str], Key("A command and its arguments, which must succeed. It is not run in a shell.")
    ] = ()
    level: Annotated[
        str | None,
        Key(
            "The lowest level that counts. By default observed for `run`, and checked for all others.",
            is_name=True,
            schema={"enum": [str(level) for level in Level]},
            code="FR157",
        ),
    ] = None
    changed: Annotated[
        bool, Key("For `file`, `files` and `json`: the content must have changed since the step was entered.")
    ] = False
    since: Annotated[
        str,
        Key(
            "For `changed` and `git`: compare with the first or with the latest time that the step was entered.",
            is_name=True,
            schema={"enum": ["first", "entry"]},
            code="FR157",
        ),
    ] = "first"
    min_bytes: Annotated[
        int,
        Key("For `file` and `files`: the smallest size of each file.", schema={"minimum": 1}, code="FR157"),
    ] = 1
    contains: Annotated[
        Sequence[str], Key("For `file` and `files`: texts that each file must contain; `$name` is filled.")
    ] = ()
    citations: Annotated[
        bool,
        Key(
            "For `file` and `files`: each file must cite code as FILE:LINE, and every cited line must exist."
        ),
    ] = False
    diffs: Annotated[
        bool,
        Key(
            "For `file` and `files`: each file must contain fenced `diff` blocks, and they must apply to the project."
        ),
    ] = False
    at_least: Annotated[
        int, Key("For `files`: how many must match.", schema={"minimum": 1}, code="FR157")
    ] = 1
    schema: Annotated[
        str, Key("For `json`: the file of the skill that contains the JSON Schema.", file="schema")
    ] = ""
    reads: Annotated[
        Sequence[str],
        Key(
            "For `run`: patterns of the files that the result depends on. By default, a result is valid for one revision."
        ),
    ] = ()
    timeout: Annotated[
        float,
        Key(
            "For `run`: the seconds after which `flow evidence run` stops it. By default 600.",
            schema={"exclusiveMinimum": 0},
            code="FR157",
        ),
    ] = DEFAULT_TIMEOUT
    output: Annotated[
        Sequence[str], Key("For `run`: regular expressions that its stdout or stderr must match.")
    ] = ()
    known_bad: Annotated[
        Sequence[str],
        Key(
            "For `flow test`: folders of the skill. Each is an example of a project that must not pass.",
            decides=False,
        ),
    ] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "records", freeze(self.records))
        for name in ("contains", "run", "reads", "output", "known_bad"):
            put(self, name, freeze_items(getattr(self, name)))

    @property
    def kinds(self) -> list[str]:
        """The kinds that the check has: exactly one if it is valid."""
        return [kind for kind in KINDS if getattr(self, kind)]

    @property
    def kind(self) -> str:
        """The kind of the check."""
        return self.kinds[0]

    @property
    def lowest_level(self) -> Level:
        """The lowest level that counts."""
        if self.level is not None:
            return Level(self.level)
        return Level.OBSERVED if self.run else Level.CHECKED


KINDS = ("file", "files", "json", "git", "records", "run")
CONDITIONS: Mapping[str, frozenset[str]] = Frozen(
    {
        "file": frozenset({"changed", "since", "min_bytes", "contains", "citations", "diffs"}),
        "files": frozenset({"changed", "since", "min_bytes", "contains", "citations", "diffs", "at_least"}),
        "json": frozenset({"changed", "since", "schema"}),
        "git": frozenset({"since"}),
        "records": frozenset(),
        "run": frozenset({"reads", "timeout", "output"}),
    }
)
"""The conditions that fit each kind."""


class Baseline(NamedTuple):
    """The files that checks compare with, as they were when the step was entered.

    ``commit`` is `None` if no check looks at git, and empty in a repository without a commit. ``files`` and ``dirty``
    are JSON texts with the digest of each path, empty for a missing file. As texts they are stored once, beside the
    journal, if they are long. ``dirty`` holds the files that differed from ``commit`` at that time.
    """

    at: str
    folder: str
    machine: str
    files: str = ""
    commit: str | None = None
    dirty: str = ""

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each file that a check looks at."""
        return _parsed(self.files)

    @property
    def dirty_digests(self) -> Mapping[str, str]:
        """The digest of each file that differed from the commit."""
        return _parsed(self.dirty)

    def completed(self, later: "Baseline") -> "Baseline":
        """Return the baseline, completed with the values that only a *later* one has."""
        git = later if self.commit is None else self
        files = digests_text({**later.digests, **self.digests})
        return self._replace(files=files, commit=git.commit, dirty=git.dirty)


def digests_text(digests: Mapping[str, str]) -> str:
    """Return digests by path as a baseline holds them."""
    return json.dumps(digests, sort_keys=True, separators=(",", ":")) if digests else ""


@lru_cache(maxsize=8)
def _parsed(text: str) -> Mapping[str, str]:
    return Frozen(json.loads(text)) if text else Frozen()


class CommandRun(NamedTuple):
    """One run of the command of a check. ``state`` identifies its input: files, or one revision.

    ``event`` is the host's event for an observed run. ``output`` is stored only for a run that did not pass.
    """

    check: str
    level: str
    verdict: str
    command: tuple[str, ...]
    folder: str
    machine: str
    state: str
    at: str = ""
    by: str = ""
    exit_status: int | None = None
    event: str = ""
    seconds: float | None = None
    output_digest: str = ""
    output: str = ""
    problem: str = ""


class Confirmation(NamedTuple):
    """A person's decision about a check: approved as it was in ``state``, or waived."""

    check: str
    waived: bool
    state: str
    reason: str = ""
    at: str = ""
    by: str = ""


class EvidenceResult(NamedTuple):
    """The result of one check. ``is_demanded`` says whether the reported outcome needs it.

    ``level`` is the level reached, ``lowest_level`` the one that counts. ``state`` identifies the content that was checked.
    """

    check: str
    kind: str
    verdict: str
    level: str
    lowest_level: str
    expected: str
    found: str
    remedy: str = ""
    is_demanded: bool = False
    waived: bool = False
    reason: str = ""
    by: str = ""
    state: str = ""
    folder: str = ""
    machine: str = ""
    files: Mapping[str, str] = Frozen()
    command: tuple[str, ...] = ()
    exit_status: int | None = None
    event: str = ""
    seconds: float | None = None
    output_digest: str = ""
    output: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check passed at a level that counts. A waived check has not passed."""
        return self.verdict == Verdict.PASS and Level(self.level).rank >= Level(self.lowest_level).rank

    @property
    def is_satisfied(self) -> bool:
        """Whether the check passed, or a person waived it."""
        return self.passed or self.waived

    @property
    def is_missing(self) -> bool:
        """Whether the reported outcome lacks it."""
        return self.is_demanded and not self.is_satisfied

    @property
    def awaits_approval(self) -> bool:
        """Whether only a person's approval is missing."""
        can_be_approved = self.kind == "run" or self.verdict == Verdict.PASS
        return self.lowest_level == Level.APPROVED and can_be_approved and not self.is_satisfied


class StepEvidence(NamedTuple):
    """Evidence of one step: ``first`` is from its first entry, ``entry`` from its latest.

    ``refusals`` counts the refusals of this attempt. ``claim`` is the outcome that was refused last, ``results`` are
    the results at that time. ``nothing_found`` says that a review was submitted without findings.
    """

    first: Baseline
    entry: Baseline
    runs: tuple[CommandRun, ...] = ()
    confirmations: tuple[Confirmation, ...] = ()
    refusals: int = 0
    claim: str = ""
    results: tuple[EvidenceResult, ...] = ()
    nothing_found: bool = False

    @property
    def missing(self) -> tuple[EvidenceResult, ...]:
        """The results because of which a claim was refused last, without those that a person confirmed since."""
        confirmed = {confirmation.check for confirmation in self.confirmations}
        missing = (result for result in self.results if result.is_missing and result.check not in confirmed)
        return tuple(missing) if self.claim else ()

    @property
    def awaited_approvals(self) -> tuple[str, ...]:
        """The checks for which only a person's approval is missing."""
        return tuple(result.check for result in self.missing if result.awaits_approval)

    def entered_again(self, baseline: Baseline) -> "StepEvidence":
        """Return the evidence for the next attempt, without the waivers and refusals of the previous one."""
        confirmations = tuple(confirmation for confirmation in self.confirmations if not confirmation.waived)
        return StepEvidence(self.first, baseline, self.runs, confirmations)

    def completed(self, later: Baseline) -> "StepEvidence":
        """Return the evidence with the values that its baselines lack because the workflow did not check them then."""
        return self._replace(first=self.first.completed(later), entry=self.entry.completed(later))

    def with_run(self, run: CommandRun) -> "StepEvidence":
        """Return the evidence with one more run, which replaces older ones of the same check and level."""
        others = (old for old in self.runs if (old.check, old.level) != (run.check, run.level))
        return self._replace(runs=(*others, run))

    def with_confirmation(self, confirmation: Confirmation) -> "StepEvidence":
        """Return the evidence with a person's newest decision about a check. It ends the refusals."""
        others = (old for old in self.confirmations if old.check != confirmation.check)
        return self._replace(confirmations=(*others, confirmation), refusals=0)


def tally(results: Iterable[EvidenceResult]) -> str:
    """Return how many demanded checks passed at each level, such as `3 of 4 checked, 1 observed`."""
    demanded = [result for result in results if result.is_demanded]
    if not demanded:
        return ""
    passed: dict[str, int] = {}
    for result in demanded:
        if result.is_satisfied:
            level = "waived" if result.waived else result.level
            passed[level] = passed.get(level, 0) + 1
    checked = passed.pop(Level.CHECKED, 0)
    others = [f"{number} {level}" for level, number in passed.items()]
    return ", ".join([f"{checked} of {len(demanded)} checked", *others])
