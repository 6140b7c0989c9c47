"""What a run refuses: reports that do not fit where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, ConflictError, UsageError
from flowrail.machines.definition.step import DONE, REPORTABLE
from flowrail.machines.sessions.evidence import EvidenceResult
from flowrail.text.phrases import did_you_mean, listed


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


class EvidenceMissingError(ConflictError):
    """The evidence that the reported outcome needs is missing; `results` are those of all checks of the step."""

    code = "EVIDENCE_MISSING"

    def __init__(
        self,
        *,
        session: str,
        step: str,
        outcome: str,
        results: Sequence[EvidenceResult],
        asks_person: bool = False,
        dispatch: str | None = None,
    ) -> None:
        demanded = [result for result in results if result.is_demanded]
        missing = [result for result in demanded if not result.is_satisfied]
        lines = [
            f"  {result.check}: expected {result.expected}; found {result.found}"
            + (f"; {result.remedy}" if result.remedy else "")
            for result in missing
        ]
        show = Command("evidence show", session)
        asked = Hint("a person must decide now; show the question: ", Command("resume", session))
        claimed = f"dispatch `{dispatch}`" if dispatch else f"step `{step}`"
        passed = f"{len(demanded) - len(missing)} of {len(demanded)} checks passed"
        again = "provide it, then report the same outcome again"
        hint = Hint(again) if dispatch else Hint(again, "; see all checks: ", show)
        super().__init__(
            f"`{outcome}` of {claimed} lacks evidence: {passed}\n" + "\n".join(lines),
            hint=asked if asks_person else hint,
            session=session,
            step=step,
            outcome=outcome,
            missing=[
                {
                    "check": result.check,
                    "verdict": result.verdict,
                    "level": result.level,
                    "lowest_level": result.lowest_level,
                    "expected": result.expected,
                    "found": result.found,
                    "remedy": result.remedy,
                }
                for result in missing
            ],
        )
        self.results = tuple(results)
        self.outcome = outcome


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
