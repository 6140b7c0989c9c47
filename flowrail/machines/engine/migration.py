"""Migrate a session to a changed workflow.

Pure. A plan is made first. It asks for what does not follow from the two versions: the session's step in the new
workflow, the consent to changed transitions, the value of a new parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from flowrail.errors import UsageError
from flowrail.machines.definition.diff import (
    CHANGED,
    COMPATIBLE,
    GONE,
    IDENTICAL,
    NEW,
    RENAMED,
    TEXTS,
    StepChange,
    became,
    compare,
    recognised,
    same_work,
)
from flowrail.machines.definition.parts import Frozen, freeze_deep
from flowrail.machines.definition.plain_form import step_fingerprint, workflow_fingerprint
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import questions as engine_questions
from flowrail.machines.engine.advance import entered
from flowrail.machines.engine.reports import ValuesError, check_params
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import BY_AGENT, BY_LIMIT, Session
from flowrail.text.phrases import did_you_mean, listed

MAP, ACCEPT, PARAMS = "map", "accept", "params"
ENDED = "(ended)"


class MigrationPlan(NamedTuple):
    """What migrating a session would do, and what must be given before it can be done.

    ``verdict`` sums it up; ``at`` and ``to`` are the steps before and after. ``renamed`` holds the new names as
    given and as recognised, ``guessed`` only the recognised ones. ``needs`` is what is missing. ``moves`` says that
    the transitions change, so that commands printed earlier conflict; ``fresh`` that the work and the questions of
    the step start again.
    """

    session: str
    skill: str
    revision: int
    verdict: str
    at: str | None
    to: str | None
    steps: tuple[StepChange, ...]
    renamed: Mapping[str, str]
    guessed: tuple[str, ...]
    needs: tuple[str, ...]
    problems: tuple[str, ...]
    params: Mapping[str, Any]
    moves: bool
    fresh: bool

    def having(self, change: str) -> list[str]:
        """Return the steps with that change."""
        return [step.step for step in self.steps if step.change == change]


def plan(
    session: Session,
    old: Workflow | None,
    new: Workflow,
    *,
    given: Mapping[str, str] | None = None,
    params: Mapping[str, object] | None = None,
) -> MigrationPlan:
    """Return the plan for *session* whose workflow was *old* (`None` if lost) and is *new* now."""
    mapped = dict(given or {})
    steps_before = old.steps if old is not None else ()
    known = {*session.visits, *([session.step] if session.step else []), *(step.id for step in steps_before)}
    _check_names(mapped, known, new)
    matches = recognised(old, new) if old is not None else {}
    taken = set(mapped.values())
    guessed = {name: to for name, to in matches.items() if name not in mapped and to not in taken}
    names = {**guessed, **mapped}
    at = session.step if session.is_open else None
    to = names.get(at, at) if at is not None else None
    to = to if to is None or to in new else None
    change = _change_of_current_step(session, old, new, at, to, names)
    before, after = old.get(at) if old is not None else None, new.get(to)
    keeps_work = before is not None and after is not None and same_work(before, after, names)
    steps = compare(old, new, names) if old is not None else ()
    values, problems = _params(session, new, params or {})
    unconfirmed = [name for name in guessed if name in session.visits or name == at]
    needs = [
        *([MAP] if change == GONE else []),
        *([ACCEPT] if unconfirmed or (change == CHANGED and at not in mapped) else []),
        *([PARAMS] if problems else []),
    ]
    return MigrationPlan(
        session=session.id,
        skill=session.skill,
        revision=session.revision,
        verdict=_verdict(session, new, steps, change, [*mapped, *unconfirmed]),
        at=at,
        to=to,
        steps=steps,
        renamed=Frozen(names),
        guessed=tuple(unconfirmed),
        needs=tuple(needs),
        problems=tuple(problems),
        params=values,
        moves=change == CHANGED,
        fresh=change == CHANGED and not keeps_work,
    )


def migrated(decided: MigrationPlan, session: Session, workflow: Workflow, now: str) -> Session:
    """Return *session* as it continues with *workflow*, with current names of steps."""
    session = renamed(session, decided.renamed, workflow)
    step = decided.to if session.is_open else session.step
    session = replace(
        session,
        step=step,
        params=decided.params,
        workflow_fingerprint=workflow_fingerprint(workflow),
        step_fingerprint=step_fingerprint(workflow, step)
        if step is None or step in workflow
        else session.step_fingerprint,
    )
    if not decided.moves:
        return session
    questions = [question for question in session.questions if question.source != BY_LIMIT]
    session = replace(session, revision=session.revision + 1, last=None, moved_at=now)
    if not decided.fresh:
        return engine_questions.with_questions(session, questions)
    from_agents = [question for question in questions if question.source == BY_AGENT]
    session = entered(workflow, engine_questions.with_questions(replace(session, dispatches=()), []))
    return engine_questions.with_questions(session, [*session.questions, *from_agents])


def renamed(session: Session, names: Mapping[str, str], workflow: Workflow) -> Session:
    """Return *session* with its steps renamed; counts of steps that *workflow* no longer has are left out."""

    def now(step: str) -> str:
        return names.get(step, step)

    def put(counts: Mapping[str, object], both: Any) -> Frozen[str, Any]:
        merged: dict[str, object] = {}
        for step, value in counts.items():
            if now(step) in workflow:
                merged[now(step)] = both(merged[now(step)], value) if now(step) in merged else value
        return Frozen(merged)

    last = session.last
    if last is not None:
        to = now(last.to) if last.to is not None else None
        last = replace(last, step=now(last.step), to=to, skipped=tuple(map(now, last.skipped)))
    return replace(
        session,
        step=now(session.step) if session.step is not None else None,
        visits=put(session.visits, int.__add__),
        entered=put(session.entered, max),
        decided=put(session.decided, max),
        grants=put(session.grants, lambda _, newer: newer),
        findings=tuple(
            replace(finding, review=now(finding.review)) if finding.review else finding
            for finding in session.findings
        ),
        last=last,
    )


def note_of(decided: MigrationPlan, before: Session, after: Session) -> RecordNote:
    """Return the note of the record of a migration."""
    return {
        "verdict": decided.verdict,
        "renamed": dict(decided.renamed),
        "text_only": decided.having(TEXTS),
        "compatible": decided.having(COMPATIBLE),
        "changed": decided.having(CHANGED),
        "gone": decided.having(GONE),
        "new": decided.having(NEW),
        "from": before.workflow_fingerprint,
        "to": after.workflow_fingerprint,
    }


def given_params(session: Session, workflow: Workflow) -> dict[str, object]:
    """Return the parameters of *session* that *workflow* has and that are not its defaults, which need not fit."""
    return {
        name: value
        for name, value in session.params.items()
        if name in workflow.params
        and not (
            workflow.params[name].has_default
            and freeze_deep(workflow.params[name].default) == freeze_deep(value)
        )
    }


def _check_names(renames: Mapping[str, str], known: Iterable[str], new: Workflow) -> None:
    for old, to in renames.items():
        if to not in new:
            ids = [step.id for step in new.steps]
            raise UsageError(
                f"the workflow has no step `{to[:80]}`",
                code="BAD_MAP",
                hint=did_you_mean(to[:80], ids, f"it has {listed(ids)}"),
                step=to[:80],
                steps=ids,
            )
        if old not in known:
            raise UsageError(
                f"the session has no step `{old[:80]}`",
                code="BAD_MAP",
                hint=did_you_mean(old[:80], known, f"it has {listed(sorted(known))}"),
                step=old[:80],
                steps=sorted(known),
            )
        if old in new:
            raise UsageError(
                f"step `{old}` still exists",
                code="BAD_MAP",
                hint="only a removed step can be renamed",
                step=old,
            )


def _change_of_current_step(
    session: Session,
    old: Workflow | None,
    new: Workflow,
    at: str | None,
    to: str | None,
    names: Mapping[str, str],
) -> str:
    """Return the change of the session's current step."""
    if at is None:
        return ENDED
    if to is None:
        return GONE
    if to == at and step_fingerprint(new, to) == session.step_fingerprint:
        return IDENTICAL
    before = old.get(at) if old is not None else None
    if old is None or before is None or step_fingerprint(old, at) != session.step_fingerprint:
        return CHANGED
    return became(before, new, names).change


def _verdict(
    session: Session, new: Workflow, steps: Iterable[StepChange], change: str, names: Iterable[str]
) -> str:
    if change in {GONE, CHANGED}:
        return change
    if any(names):
        return RENAMED
    if workflow_fingerprint(new) != session.workflow_fingerprint:
        return COMPATIBLE
    return TEXTS if any(step.change == TEXTS for step in steps) else IDENTICAL


def _params(
    session: Session, new: Workflow, params: Mapping[str, object]
) -> tuple[Mapping[str, object], list[str]]:
    """Return the parameters under the new definition, and their problems."""
    earlier = given_params(session, new)
    try:
        return check_params(new, {**earlier, **params}), []
    except ValuesError as error:
        return session.params, [str(problem) for problem in error.details["problems"]]  # type: ignore[attr-defined]
