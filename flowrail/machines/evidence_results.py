"""Evidence as a session records it: runs of commands, decisions of people, results of checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from flowrail.machines.demanded_evidence import Verdict
from flowrail.machines.frozen import Frozen
from flowrail.text.phrases import joined


@dataclass(frozen=True)
class CommandRun:
    """One run of a command of a step."""

    id: str
    """The name of the folder with its files."""
    command: str
    """The name of the command in the step."""
    run: tuple[str, ...]
    """The arguments, with their values."""
    step: str
    revision: int
    """The revision of the session when it was started."""
    session: str
    """The session whose folder has its files: a session that was rewound or replaced inherits runs."""
    machine: str
    at: str
    by: str
    is_once: bool = False
    """Whether it must not be run again in the session."""
    reads: str = ""
    """The digest of the files that it reads before it ran; empty if it declares none."""
    changed: str = ""
    """The first file that it reads and that changed while it ran."""
    ended_at: str = ""
    """When its end was recorded; empty as long as it is not."""
    verdict: str = ""
    """The verdict on its end."""
    status: int | None = None
    """The exit status; negative for a signal."""
    seconds: float = 0.0
    problem: str = ""
    """Why it did not pass, if the exit status does not say it, or who settled an unknown end."""
    facts: Mapping[str, str] = Frozen()
    """The facts that its output contains."""

    @property
    def passed(self) -> bool:
        """Whether it ended well."""
        return self.verdict == Verdict.PASS

    @property
    def result(self) -> str:
        """The end in a few words."""
        if self.verdict == Verdict.UNKNOWN:
            return "its result is unknown, because the process that supervised it was killed; it may still be running"
        if self.problem:
            return self.problem
        if self.status is not None and self.status < 0:
            return f"it was killed by signal {-self.status}"
        return "it passed" if self.passed else f"it exited with {self.status}"


@dataclass(frozen=True)
class Confirmation:
    """A person's decision about a check in one attempt of a step."""

    check: str
    waived: bool
    """Whether the session continues without it. Otherwise the person confirmed it."""
    reason: str = ""
    at: str = ""
    by: str = ""
    way: str = ""
    """The way in which it came."""


@dataclass(frozen=True)
class EvidenceResult:
    """The result of one check."""

    check: str
    kind: str
    verdict: str
    expected: str
    found: str
    remedy: str = ""
    """What to do about it."""
    is_demanded: bool = False
    """Whether the reported outcome needs it."""
    reason: str = ""
    """The reason of the person who confirmed or waived it."""
    by: str = ""
    """That person."""
    way: str = ""
    """The way in which that came."""

    @property
    def passed(self) -> bool:
        """Whether the check passed. A waived check has not passed."""
        return self.verdict == Verdict.PASS

    @property
    def is_satisfied(self) -> bool:
        """Whether the check passed, or a person waived it."""
        return self.verdict in {Verdict.PASS, Verdict.WAIVED}

    @property
    def is_missing(self) -> bool:
        """Whether the reported outcome lacks it."""
        return self.is_demanded and not self.is_satisfied


@dataclass(frozen=True)
class StepEvidence:
    """Evidence of the current step in this attempt."""

    files: Mapping[str, str] = Frozen()
    """The digests that its files had when the step was entered; empty for a missing file."""
    folder: str = ""
    """The folder of the project."""
    confirmations: tuple[Confirmation, ...] = ()
    refusals: int = 0
    """How many reports lacked evidence."""
    claim: str = ""
    """The outcome that was refused last."""
    results: tuple[EvidenceResult, ...] = ()
    """The results at that time."""
    nothing_found: bool = False
    """Whether a review was submitted without findings."""

    @property
    def missing(self) -> tuple[EvidenceResult, ...]:
        """The results because of which a report was refused last, without those that a person decided since."""
        decided = {confirmation.check for confirmation in self.confirmations}
        missing = (result for result in self.results if result.is_missing and result.check not in decided)
        return tuple(missing) if self.claim else ()

    @property
    def awaited_approvals(self) -> tuple[str, ...]:
        """The checks that only a person can confirm."""
        return tuple(result.check for result in self.missing if result.kind == "person")

    def with_confirmation(self, confirmation: Confirmation) -> StepEvidence:
        """Return the evidence with a person's newest decision about a check. It ends the refusals."""
        others = (old for old in self.confirmations if old.check != confirmation.check)
        return replace(self, confirmations=(*others, confirmation), refusals=0)


def tally(results: Iterable[EvidenceResult]) -> str:
    """Return how many demanded checks passed, such as `3 of 4 passed, 1 waived`."""
    demanded = [result for result in results if result.is_demanded]
    if not demanded:
        return ""
    waived = sum(result.verdict == Verdict.WAIVED for result in demanded)
    passed = sum(result.passed for result in demanded)
    return joined([f"{passed} of {len(demanded)} passed", *([f"{waived} waived"] if waived else [])])
