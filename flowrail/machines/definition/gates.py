"""Review gates: which severities still block in which round, and what a loop looks like from inside."""

# Without `from __future__ import annotations`: texts would be compiled at every start.

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from flowrail.machines.definition.delegation import AgentRole
from flowrail.machines.definition.frozen import Frozen, FrozenObject
from flowrail.machines.definition.keys import DefinitionPart, Key


class Severity(StrEnum):
    """How much a finding matters: MUST is wrong, SHOULD is worse than it need be, COULD is taste."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    COULD = "COULD"


class QRStatus(StrEnum):
    """What a review came to."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"


class LoopState(StrEnum):
    """Where a review loop stands when a step of it is entered."""

    INITIAL = "initial"
    RETRY = "retry"
    COMPLETE = "complete"


class Confidence(StrEnum):
    """How sure an agent is, from looking around to certainty."""

    EXPLORING = "exploring"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CERTAIN = "certain"


class DocumentAvailability(StrEnum):
    """Whether the document that a step works on is there."""

    PROVIDED = "provided"
    EXISTS = "exists"
    MISSING = "missing"


class QRState(FrozenObject):
    """A review loop as a step sees it: the round, whether it is entered to fix findings, the last verdict."""

    iteration: int = 1
    failed: bool = False
    status: QRStatus | str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", QRStatus(self.status) if self.status is not None else None)

    @property
    def state(self) -> LoopState:
        """Return where the loop stands."""
        if self.status is QRStatus.PASS:
            return LoopState.COMPLETE
        return LoopState.RETRY if self.failed or self.iteration > 1 else LoopState.INITIAL

    @property
    def passed(self) -> bool:
        """Return whether the last review passed."""
        return self.status is QRStatus.PASS


class GateConfig(DefinitionPart):
    """A review gate: its outcome follows from the findings that its review recorded.

    A step's ``gate`` needs ``review``; ``limit`` and ``policy`` say how often and how strictly. The other fields are
    for scripts that print their own steps with the formatters: the number of the step that does the work, where
    a passed review leads, and who fixes what it found.
    """

    qr_name: Annotated[
        str, Key("What the review is for, in a few words.", name="name", decides=False, required=True)
    ]
    work_step: int = 0
    pass_step: int | None = None
    pass_message: str = ""
    self_fix: bool = False
    fix_target: AgentRole | None = None
    review: Annotated[str, Key("The step that reviews.", is_name=True, rank=1, required=True)] = ""
    limit: Annotated[int, Key("How many rounds before the user is asked.", rank=2, schema={"minimum": 1})] = 5
    policy: Annotated[str | None, Key("Which severities block in which round.", is_name=True, rank=3)] = None


class Policy:
    """Which severities block in which round; rounds beyond the table are judged as its last one."""

    def __init__(self, name: str, rounds: Sequence[frozenset[Severity]]) -> None:
        self.name = name
        self.rounds = tuple(rounds)

    def blocking(self, iteration: int) -> frozenset[Severity]:
        """Return the severities that block in round *iteration*, counted from 1."""
        if iteration < 1:
            raise ValueError(f"rounds count from 1, not {iteration}")
        return self.rounds[min(iteration, len(self.rounds)) - 1]


_ALL = frozenset(Severity)
_MOST = frozenset({Severity.MUST, Severity.SHOULD})
_LEAST = frozenset({Severity.MUST})

POLICIES: Mapping[str, Policy] = Frozen(
    {
        policy.name: policy
        for policy in (
            Policy("1-2 / 3-4 / 5+", (_ALL, _ALL, _MOST, _MOST, _LEAST)),
            Policy("1-3 / 4 / 5+", (_ALL, _ALL, _ALL, _MOST, _LEAST)),
            Policy("1-2 / 3 / 4+", (_ALL, _ALL, _MOST, _LEAST)),
        )
    }
)
DEFAULT_POLICY = POLICIES["1-2 / 3-4 / 5+"]


def blocking_severities(iteration: int, policy: Policy = DEFAULT_POLICY) -> frozenset[Severity]:
    """Return the severities that still block in round *iteration*."""
    return policy.blocking(iteration)
