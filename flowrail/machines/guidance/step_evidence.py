"""The commands of the current step, and the evidence that it demands, in words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from flowrail.command import Command
from flowrail.machines.asked_questions import confirmation_question
from flowrail.machines.demanded_evidence import Evidence, Verdict
from flowrail.machines.evidence_results import EvidenceResult, StepEvidence
from flowrail.machines.guidance.agent_work import QuestionToUser
from flowrail.machines.next_step import effective_outcome
from flowrail.machines.session import Session
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.text.phrases import count, joined
from flowrail.text.placeholders import fill


@dataclass(frozen=True)
class DemandedCheck(EvidenceResult):
    """A check of the current step. It has no verdict before it was evaluated."""

    outcomes: tuple[str, ...] = ()
    """The outcomes that need it; empty if the step decides its outcome and always needs it."""
    condition: str = ""
    """When it counts, if rules decide the outcome."""
    command: Command | None = None
    """Runs the command of a check. For a review, it records that it found nothing."""
    question: QuestionToUser | None = None
    """The question in which a person confirms it, as long as nobody has."""


class DeclaredCommand(NamedTuple):
    """A command that the current step declares."""

    name: str
    run: str
    """Its words, as a shell shows them."""
    once: bool
    command: Command | None
    """Runs it; `None` in a preview."""
    state: str
    """The verdict on its newest run that counts here, or `running`; empty if no run counts."""
    ran_before: bool = False
    """Whether it ran before this step, so that the run counts until a file that it reads changes."""


def commands_of(
    step: StepDef, session: Session, values: Mapping[str, object], store: str | None
) -> Iterator[DeclaredCommand]:
    """Yield the commands of a step."""
    for name, declared in step.commands.items():
        words = tuple(fill(word, values) for word in declared.run)
        newest = session.newest_run(name, declared, words)
        yield DeclaredCommand(
            name,
            shlex.join(words),
            declared.once is not False,
            Command("run", name, session=session.id, store=store) if session.id else None,
            (newest.verdict or "running") if newest is not None else "",
            newest is not None and not newest.is_once and newest.revision != session.revision,
        )


def checks_of(
    workflow: Workflow, step: StepDef, session: Session, values: Mapping[str, object], store: str | None
) -> Iterator[DemandedCheck]:
    """Yield the checks of a step."""
    confirmed = {known.check: known for known in (session.evidence or StepEvidence()).confirmations}
    for check in step.checks.values():
        command, question = None, None
        if check.person is not None and check.id not in confirmed:
            asked = confirmation_question(check.id, fill(check.person, values))
            approve = Command("approve", check.id, session=session.id, store=store) if session.id else None
            question = QuestionToUser(
                **vars(asked), session=session.id, command=approve, choices=(approve, None)
            )
        if session.id and check.review == "submitted":
            command = Command("finding none", session.id, store=store)
        elif session.id and check.command is not None:
            command = Command("run", check.command, session=session.id, store=store)
        outcomes = tuple(outcome for outcome, checks in step.evidence.items() if check in checks)
        needed = {
            outcome
            for outcome in step.transitions
            if effective_outcome(workflow, step, session, outcome) in outcomes
        }
        is_always = needed == set(step.transitions)
        verdict = ""
        if check.id in confirmed:
            verdict = Verdict.WAIVED if confirmed[check.id].waived else Verdict.PASS
        yield DemandedCheck(
            check.id,
            check.kind,
            verdict,
            expected(check, lambda path: fill(path, values), values),
            found="",
            outcomes=() if is_always and step.decides else outcomes,
            condition="" if is_always else _condition(step, needed),
            command=command,
            question=question,
        )


def _condition(step: StepDef, outcomes: AbstractSet[str]) -> str:
    """Return when the rules of *step* decide on one of *outcomes*."""
    return " or ".join(rule.when or "no other rule holds" for rule in step.rules if rule.outcome in outcomes)


def expected(check: Evidence, show: Callable[[str], str], values: Mapping[str, object]) -> str:
    """Return what a check expects. *show* returns a path as it is printed; *values* fill the texts."""
    conditions = _conditions(check, values)
    if check.file is not None:
        return f"{show(check.file)}{conditions}"
    if check.files is not None:
        each = conditions.replace("(", "(each ", 1)
        least = 1 if check.citations or check.items else check.at_least
        return f"at least {count(least, 'file')} matching {show(check.files)}{each}"
    if check.command is not None:
        return f"command `{check.command}` to pass"
    if check.review is not None:
        return "a submitted review" if check.review == "submitted" else "no open finding"
    return f"a person to confirm: {fill(str(check.person), values)}"


_ROOTS = "from the project root or the folder of this file"
"""The folders from which the file of a citation is named."""


def _conditions(check: Evidence, values: Mapping[str, object]) -> str:
    contains = joined([repr(fill(text, values) or text) for text in check.contains])
    letter = check.items
    citing = f'citing at least {count(check.at_least, "line")} as FILE:LINE "words" {_ROOTS}'
    ids = f"{letter}1, {letter}2, …" if letter else "id (a letter and a number)"
    items = f"with at least {count(check.at_least, 'item')} {ids}"
    conditions = [
        *([check.section] if check.section else []),
        *(["changed in this step"] if check.changed else []),
        *([f"at least {count(check.min_bytes, 'byte')}"] if check.min_bytes > 1 else []),
        *([f"containing {contains}"] if check.contains else []),
        *([items] if letter else []),
        *([f'each citing FILE:LINE "words" {_ROOTS}'] if letter and check.citations else []),
        *([citing] if check.citations and not letter else []),
        *([f"naming each {ids} that begins a line of {fill(check.covers, values)}"] if check.covers else []),
    ]
    return f" ({', '.join(conditions)})" if conditions else ""
