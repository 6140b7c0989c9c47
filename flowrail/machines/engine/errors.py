"""What a run refuses: reports that do not fit where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, ConflictError, UsageError
from flowrail.machines.definition.step import DONE, REPORTABLE
from flowrail.text.phrases import listed
from flowrail.text.suggestions import did_you_mean


class UnknownOutcomeError(UsageError):
    """What was reported is no outcome at all."""

    code = "UNKNOWN_OUTCOME"

    def __init__(self, outcome: str) -> None:
        words = [str(each) for each in REPORTABLE] + [DONE]
        super().__init__(
            f"`{outcome}` is not an outcome",
            hint=did_you_mean(outcome, words, f"report one of {listed(words)}"),
            outcome=outcome,
            outcomes=words,
        )


class OutcomeNotOpenError(ConflictError):
    """The current step does not accept the reported outcome."""

    code = "OUTCOME_NOT_OPEN"

    def __init__(self, *, session: str, step: str, outcome: str, ways_on: Iterable[str]) -> None:
        ways = [str(way) for way in ways_on]
        super().__init__(
            f"step `{step}` does not accept `{outcome}` (expected: {listed(ways)})",
            hint=Hint("read the step again and report what happened: ", Command("resume", session)),
            step=step,
            outcome=outcome,
            open=ways,
        )


class SessionEndedError(ConflictError):
    """The run is over; nothing more can be reported."""

    code = "SESSION_ENDED"

    def __init__(self, *, session: str, skill: str, status: str) -> None:
        super().__init__(
            f"session `{session}` is {status}",
            hint=Hint(
                "see its history: ",
                Command("history", session),
                "; start a new one: ",
                Command("start", skill),
            ),
            session=session,
            status=status,
        )


class StepGoneError(ChangedError):
    """The session is at a step that the definition no longer has."""

    def __init__(self, *, session: str, step: str | None, steps: Sequence[str]) -> None:
        super().__init__(
            f"session `{session}` is at step `{step}`, which the workflow no longer has",
            hint=did_you_mean(
                str(step),
                steps,
                Hint("see the options: ", Command("session migrate", session, plan=True)),
            ),
            session=session,
            step=step,
        )


class ValuesError(UsageError):
    """Parameters or facts that are missing, unknown or do not fit; all of them at once."""

    code = "BAD_VALUES"

    def __init__(self, what: str, problems: Sequence[str], *, hint: str | Hint, names: Sequence[str]) -> None:
        super().__init__(
            f"{what}: {'; '.join(problems)}" if what else "; ".join(problems),
            hint=hint,
            problems=list(problems),
            names=list(names),
        )
