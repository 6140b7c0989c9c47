"""Check parameters, facts and memory against their declarations, with the errors of a wrong report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.evidence_results import EvidenceResult
from flowrail.machines.frozen import Frozen, freeze_deep
from flowrail.machines.session import LONGEST_NOTE
from flowrail.machines.step import BUILT_IN, VALUE_NAME, StepDef, accepts_any_fact, fact_args
from flowrail.machines.values import Arg, range_text
from flowrail.machines.workflow import Workflow
from flowrail.text import json
from flowrail.text.phrases import MOST_LISTED, listed, near
from flowrail.text.safe_text import in_quotes


class OutcomeNotOpenError(ConflictError):
    """The current step does not accept the reported outcome."""

    code = "OUTCOME_NOT_OPEN"

    def __init__(self, *, session: str, step: str, outcome: str, accepted: Iterable[str]) -> None:
        outcomes = [str(outcome) for outcome in accepted]
        super().__init__(
            f"step `{step}` does not accept `{outcome}` (expected: {listed(outcomes)})",
            hint=Hint("read the step again and report what happened: ", Command("resume", session)),
            step=step,
            outcome=outcome,
            open=outcomes,
        )


_SHOWN = ("check", "verdict", "expected", "found", "remedy")
"""The fields of each missing result in the details of a refusal."""


class EvidenceMissingError(ConflictError):
    """The evidence that an outcome needs is missing; `results` are those of all checks of the step.

    ``is_decided`` says that the step decided the outcome and the agent did not report it; *target* is the step that
    the outcome leads to, `None` if it ends the session.
    """

    code = "EVIDENCE_MISSING"

    def __init__(
        self,
        *,
        session: str,
        step: str,
        outcome: str,
        results: Sequence[EvidenceResult],
        is_decided: bool = False,
        target: str | None = None,
    ) -> None:
        demanded = [result for result in results if result.is_demanded]
        missing = [result for result in demanded if result.is_missing]
        lines = [
            f"  {result.check}: expected {result.expected}; found {result.found}"
            + (f"; {result.remedy}" if result.remedy else "")
            for result in missing
        ]
        leads = f"leads to step `{target}`" if target else "ends the session"
        reported = f"this report, which {leads}," if is_decided else f"`{outcome}`"
        passed = f"{len(demanded) - len(missing)} of {len(demanded)} evidence checks passed"
        again = f"provide it, then report {'' if is_decided else 'the same outcome '}again"
        super().__init__(
            f"cannot accept {reported} for step `{step}`: {passed}\n" + "\n".join(lines),
            hint=again,
            session=session,
            step=step,
            outcome=outcome,
            missing=[{name: getattr(result, name) for name in _SHOWN} for result in missing],
        )
        self.results = tuple(results)
        self.outcome = outcome


class ReviewPendingError(ConflictError):
    """The gate's review has not ended, so the gate cannot decide."""

    code = "REVIEW_PENDING"


class SessionEndedError(ConflictError):
    """The session has ended and accepts no more reports."""

    code = "SESSION_ENDED"

    def __init__(self, *, session: str, status: str) -> None:
        super().__init__(
            f"session `{session}` is {status}",
            hint=Hint("see its reports, answers and reasons: ", Command("sessions", session)),
            session=session,
            status=status,
        )


class ValuesError(UsageError):
    """Parameters or facts are missing, unknown or invalid; the error lists all of them."""

    code = "BAD_VALUES"

    def __init__(self, what: str, problems: Sequence[str], *, hint: str | Hint, names: Sequence[str]) -> None:
        super().__init__(
            f"{what}: {'; '.join(problems)}" if what else "; ".join(problems),
            hint=hint,
            problems=list(problems),
            names=list(names),
        )


def default_params(workflow: Workflow) -> dict[str, object]:
    """Return the defaults of the parameters, except for those that only handlers declare."""
    return {
        name: arg.default
        for name, arg in workflow.params.items()
        if arg.has_default and name not in workflow.handler_params
    }


def check_params(workflow: Workflow, params: Mapping[str, object]) -> Frozen[str, object]:
    """Return the parameters with their values; `ValuesError` if one does not fit.

    A parameter that only handlers declare has a value only if it is in *params*.
    """
    problems = problems_of(workflow.params, params)
    if problems:
        raise ValuesError(
            f"cannot start `{workflow.name}`",
            problems,
            hint=_how_to_start(workflow, params),
            names=list(workflow.params),
        )
    values = {**default_params(workflow), **params}
    return Frozen({name: freeze_deep(value) for name, value in values.items()})


def _how_to_start(workflow: Workflow, params: Mapping[str, object]) -> Hint:
    missing = {name: "…" for name, arg in workflow.params.items() if arg.required and name not in params}
    names = f"parameters: {listed(workflow.params)}" if workflow.params else "it takes no parameters"
    show = Hint(f"{names}; see ", Command("show", workflow.name))
    return (
        Hint("give them: ", Command("step", workflow.name, new=True, params=missing), "; ", show)
        if missing
        else show
    )


def check_facts(
    workflow: Workflow,
    step: StepDef,
    params: Mapping[str, object],
    facts: Mapping[str, object],
    *,
    accepts_any: bool = False,
) -> Frozen[str, object]:
    """Return the reported facts; `ValuesError` if one is missing, unknown, fixed or does not fit.

    With *accepts_any*, undeclared facts are accepted.
    """
    declared = fact_args(step, params)
    if not facts and not declared:
        return Frozen()
    fixed = [name for name in facts if name in params and name not in {*declared, *workflow.reported}]
    rest = {name: value for name, value in facts.items() if name not in fixed}
    problems = [f"`{in_quotes(name)}` is a parameter, fixed when the session started" for name in fixed]
    problems += (
        _undeclared_problems(rest) if accepts_any or accepts_any_fact(step) else problems_of(declared, rest)
    )
    if problems:
        how = ", ".join(how_to_give(name, arg) for name, arg in declared.items())
        raise ValuesError(f"step `{step.id}`", problems, hint=_how_to_report(step, how), names=list(declared))
    return Frozen({name: freeze_deep(value) for name, value in facts.items()})


def _how_to_report(step: StepDef, how: str) -> str:
    if how:
        return f"report {how}"
    if accepts_any_fact(step):
        return "report the facts that the step's instructions ask for"
    return "remove the facts; this step accepts none"


def _undeclared_problems(facts: Mapping[str, object]) -> list[str]:
    """Return the problems of undeclared facts."""
    problems: list[str] = []
    for name, value in facts.items():
        if not VALUE_NAME.match(name) or name in BUILT_IN:
            problems.append(f"`{in_quotes(name)}` is not a valid name for a fact")
        elif (problem := json.problem(value)) is not None:
            problems.append(f"`{name}` {problem}")
    return problems


LEFT_OPEN = frozenset({"…", "..."})


def read_values(texts: Mapping[str, object], declared: Mapping[str, Arg]) -> dict[str, object]:
    """Return *texts* with each text converted to its declared kind; `ValuesError` if some do not fit.

    A name that is not declared keeps its text. The check that follows refuses it.
    """
    values = dict(texts)
    problems: list[str] = []
    wanted: list[str] = []
    for name, text in texts.items():
        if not isinstance(text, str):
            continue
        refuse_left_open(name, text)
        arg = declared.get(name)
        if arg is None:
            continue
        try:
            values[name] = arg.read(text)
        except ValueError as error:
            problems.append(f"`{name}` {error}")
            wanted.append(how_to_give(name, arg))
    if problems:
        raise ValuesError("", problems, hint=f"give {', '.join(wanted)}", names=list(declared))
    return values


def refuse_left_open(name: str, value: str) -> None:
    """Refuse the `…` that a printed command has in place of a value."""
    if value.strip() in LEFT_OPEN:
        raise UsageError(
            f"`{name[:60]}={value.strip()}` has no value",
            hint=f"replace `{value.strip()}` with the real value",
        )


def check_note(text: str) -> str:
    """Return a note without blanks around it; refuse one that is too long."""
    text = text.strip()
    if len(text) > LONGEST_NOTE:
        raise UsageError(
            f"the note has {len(text)} characters; the limit is {LONGEST_NOTE}",
            code="NOTE_TOO_LONG",
            hint="write the details to the session's notes.md and say in one sentence what they are about",
            characters=len(text),
        )
    return text


def how_to_give(name: str, arg: Arg) -> str:
    """Return a value's name with what it accepts, for a hint."""
    takes = "|".join(str(choice) for choice in arg.choices) if arg.choices else arg.kind.upper()
    remarks = [*([] if arg.choices else [range_text(arg)]), "" if arg.required else "optional"]
    remark = ", ".join(filter(None, remarks))
    return f"`{name}={in_quotes(takes)}`{f' ({remark})' if remark else ''}"


def problems_of(declared: Mapping[str, Arg], values: Mapping[str, object]) -> list[str]:
    """Return why *declared* does not accept *values*: unknown, missing or wrong ones."""
    problems: list[str] = []
    for name, value in values.items():
        arg = declared.get(name)
        if arg is None:
            close = near(name, declared) if len(problems) < MOST_LISTED else []
            meant = f" (did you mean {listed(close)}?)" if close else ""
            problems.append(f"`{in_quotes(name)}` is not known{meant}")
        else:
            problem = arg.problem(value)
            if problem:
                problems.append(f"`{name}` {problem}")
    problems += [
        f"`{name}` is missing" for name, arg in declared.items() if arg.required and name not in values
    ]
    return problems
