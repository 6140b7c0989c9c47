"""The sub-agents of a step: the child sessions reserved for its work, and the join.

Entering a step with a dispatch reserves the id of one child session for each item. A child's own session has its
status, facts and notes, and nothing of it is copied. So the functions get the children that exist, by id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.dispatch import MOST_DISPATCHES, AgentRole, Dispatch, needed_by
from flowrail.machines.graph import reviews
from flowrail.machines.outcome_decision import actions_of, names_in, session_context, title_of
from flowrail.machines.session import Dispatched, Session
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.session_status import COMPLETED, FAILED
from flowrail.text import phrases, placeholders
from flowrail.text.safe_text import Markup, block, element, parts

Children: TypeAlias = Mapping[str, Session]
"""The child sessions that exist, by id."""

PROMPT_STEP = "work"
"""The only step of a child session that works from a prompt."""
HOW_TO_REPORT = (
    "When this is done, report `ok`, and append each fact of the result as -s NAME=VALUE. If it cannot be done, report "
    "`fail` with -s reason=TEXT."
)
HOW_TO_REVIEW = (
    "Record each finding before you report. Then report your verdict: `pass` if what you reviewed passes, `fail` with "
    "-s reason=TEXT if it does not. Append each other fact of the result as -s NAME=VALUE."
)
_CHILD = re.compile(r"(.*)\.\d{1,9}\.(\d{1,3})(?:-(\d{1,4}))?\Z")
_WHOLE = r"\$([a-z][a-z0-9_]*)\Z"


class DispatchGoneError(ConflictError):
    """The child session was replaced, or its parent has left the step."""

    code = "DISPATCH_GONE"


class Join(NamedTuple):
    """The progress of a step's dispatches."""

    needed: int
    """How many must succeed."""
    succeeded: int
    open: tuple[int, ...]
    """The numbers of those that have not ended."""
    total: int

    @property
    def met(self) -> bool:
        """Whether enough have succeeded."""
        return self.succeeded >= self.needed

    @property
    def hopeless(self) -> bool:
        """Whether it can no longer be met, unless agents are replaced."""
        return not self.met and self.succeeded + len(self.open) < self.needed


def child_id(parent: str, revision: int, number: int, agent: int = 1) -> str:
    """Return the id of the child that does piece *number* of the step entered at *revision*, as its n-th *agent*."""
    return f"{parent}.{revision}.{number}{f'-{agent}' if agent > 1 else ''}"


def parent_of(session_id: str) -> str | None:
    """Return the id of the session that a child with this id works for; `None` if the id is not a child's."""
    match = _CHILD.match(session_id)
    return match[1] or None if match else None


def piece_of(child: str) -> str:
    """Return what the ids of all children for one piece of work begin with; any other id as it is."""
    match = _CHILD.match(child)
    return child[: match.end(2)] if match else child


def earlier_children(child: str) -> Iterator[str]:
    """Yield the ids of the children that *child* replaces, newest first."""
    match = _CHILD.match(child)
    for agent in range(int(match[3] or 1) - 1 if match else 0, 0, -1):
        yield piece_of(child) if agent == 1 else f"{piece_of(child)}-{agent}"


def number_of(dispatch: Dispatched) -> int:
    """Return the number of a piece of work in its step, counted from 1."""
    match = _CHILD.match(dispatch.child)
    assert match is not None  # noqa: S101 - made by `child_id`
    return int(match[2])


def new_dispatches(step: StepDef, values: Mapping[str, object], session: Session) -> tuple[Dispatched, ...]:
    """Return the dispatches that entering *step* records, one for each item."""
    items = _items(step.work, values, step) if step.work is not None else []
    return tuple(
        Dispatched(child_id(session.id, session.revision, number), item)
        for number, item in enumerate(items, start=1)
    )


def find_dispatch(session: Session, name: str) -> Dispatched:
    """Return a dispatch of the current step by its number, its child's id or its item."""
    named = [known for known in session.dispatches if name in {str(number_of(known)), known.child}]
    named += [known for known in session.dispatches if name == phrases.in_words(known.item)]
    if named:
        return named[0]
    numbers = [str(number_of(dispatch)) for dispatch in session.dispatches]
    raise UsageError(
        f"step `{session.step}` of session `{session.id}` has no dispatch `{name[:40]}`",
        code="UNKNOWN_DISPATCH",
        hint=f"give its number: {phrases.listed(numbers)}" if numbers else "this step has no dispatches",
        dispatches=numbers,
    )


def replace_child(workflow: Workflow, session: Session, name: str, children: Children) -> Session:
    """Return *session* with a new child for one piece of its work. The old one cannot report any more."""
    dispatch = find_dispatch(session, name)
    step = workflow.step(str(session.step))
    if has_succeeded(workflow, step, session, children.get(dispatch.child)):
        raise ConflictError(
            f"dispatch {number_of(dispatch)} of step `{step.id}` has succeeded, so its agent is not replaced",
            hint=Hint("see its result: ", Command("step", session=session.id)),
            session=session.id,
            child=dispatch.child,
        )
    match = _CHILD.match(dispatch.child)
    agent = int(match[3] or 1) + 1 if match else 1
    renewed = replace(dispatch, child=child_id(session.id, session.revision, number_of(dispatch), agent))
    dispatches = (renewed if known is dispatch else known for known in session.dispatches)
    return replace(session, dispatches=tuple(dispatches))


def variables_of(work: Dispatch, dispatch: Dispatched, values: Mapping[str, object]) -> dict[str, object]:
    """Return the variables of a piece of work with their placeholders filled."""
    known = {**values, "item": dispatch.item}
    return {name: _filled(value, known) for name, value in work.vars.items()}


def workflow_of_prompt(
    workflow: Workflow,
    session: Session,
    step: StepDef,
    dispatch: Dispatched,
    *,
    introduction: Sequence[str],
    convert: Callable[[str], str],
) -> Workflow:
    """Return the workflow of one step that does a piece of work for which the dispatch names no workflow.

    *introduction* precedes the instructions. *convert* makes paths in them usable in another folder.
    """
    work = step.work
    assert work is not None  # noqa: S101 - the step has dispatches
    context = session_context(workflow, session, step)
    values = names_in(context)
    if work.prompt:
        known = {**values, **variables_of(work, dispatch, values), "item": dispatch.item}
        texts = tuple(map(placeholders.Filling(known, quoting=True).fill, work.prompt))
    else:
        texts = actions_of(step, context)
    unmentioned = _unmentioned_values(work, dispatch, values)
    variables = [
        element("var", convert(phrases.in_words(value)), name=name) for name, value in unmentioned.items()
    ]
    is_review = work.agent == AgentRole.QUALITY_REVIEWER or step.id in reviews(workflow)
    return Workflow(
        workflow.name,
        StepDef(
            PROMPT_STEP,
            _without_placeholders(title_of(step, context), convert),
            [
                *(_without_placeholders(text, convert) for text in (*introduction, *texts)),
                *([block("context", variables)] if variables else []),
                HOW_TO_REVIEW if is_review else HOW_TO_REPORT,
            ],
            next={Outcome.OK: None, Outcome.FAIL: None},
        ),
        resources=workflow.resources,
        validate=False,
    )


def _without_placeholders(text: str, convert: Callable[[str], str]) -> str:
    """Return a filled text, converted, so that filling it again does not change it."""
    if isinstance(text, Markup):
        return text
    return "".join(
        part if isinstance(part, Markup) else convert(part).replace("$", "$$") for part in parts(text)
    )


def _unmentioned_values(
    work: Dispatch, dispatch: Dispatched, values: Mapping[str, object]
) -> dict[str, object]:
    """Return the variables and the item of *dispatch* without a placeholder in its prompt."""
    named = {name for text in work.prompt for name in placeholders.placeholders(text)}
    passed_on = {name for value in work.vars.values() for name in placeholders.placeholders(str(value))}
    item = {} if "item" in named | passed_on else {"item": dispatch.item}
    known = {**variables_of(work, dispatch, values), **item}
    return {name: value for name, value in known.items() if name not in named and value is not None}


def has_succeeded(workflow: Workflow, step: StepDef, session: Session, child: Session | None) -> bool:
    """Return whether a child has done its work.

    The child of a review has, too, if its verdict was `fail` and it recorded findings: the gate decides from them.
    """
    if child is None or child.status == COMPLETED:
        return child is not None
    has_findings = any(finding.by == child.id for finding in session.findings)
    return child.status == FAILED and has_findings and step.id in reviews(workflow)


def join_of(workflow: Workflow, step: StepDef, session: Session, children: Children) -> Join:
    """Return the progress of the step's dispatches."""
    pairs = [(dispatch, children.get(dispatch.child)) for dispatch in session.dispatches]
    total = len(pairs)
    return Join(
        needed=total if step.work is None else min(total, needed_by(step.work.join, total)),
        succeeded=sum(has_succeeded(workflow, step, session, child) for _, child in pairs),
        open=tuple(number_of(dispatch) for dispatch, child in pairs if child is None or child.is_open),
        total=total,
    )


def open_outcomes(join: Join, outcomes: Sequence[str]) -> list[str]:
    """Return which of *outcomes* can be reported: all if enough succeeded, all but `ok` if the join cannot be met."""
    if join.met:
        return list(outcomes)
    if join.hopeless and not join.open:
        return [outcome for outcome in outcomes if outcome != Outcome.OK]
    return []


def check_joined(
    workflow: Workflow, step: StepDef, session: Session, children: Children, outcome: str
) -> None:
    """Refuse a report before enough agents have succeeded."""
    join = join_of(workflow, step, session, children)
    if join.total == 0 or outcome in open_outcomes(join, [outcome]):
        return
    failed = join.total - join.succeeded - len(join.open)
    ended = f"{failed} of {join.total} did not" if failed else f"{join.succeeded} of {join.needed} have"
    instead = "report another outcome, or " if {*step.transitions} - {Outcome.OK} else ""
    raise ConflictError(
        f"step `{step.id}` is waiting for its agents: {join.needed} must succeed, {ended}",
        code="JOIN_PENDING",
        hint=Hint("see the remaining work: ", Command("resume", session.id))
        if join.open
        else Hint(f"{instead}replace an agent that failed: ", Command("resume", session.id)),
        step=step.id,
        needed=join.needed,
        succeeded=join.succeeded,
        waits_for=[child_id(session.id, session.revision, number) for number in join.open],
    )


def is_hopeless(workflow: Workflow, step: StepDef, session: Session, children: Children) -> bool:
    """Return whether too many agents failed, so that the step cannot succeed, and it can fail."""
    join = join_of(workflow, step, session, children)
    return Outcome.FAIL in step.transitions and join.hopeless and not join.open


def cut(result: Mapping[str, object], most: int, where: str) -> dict[str, object]:
    """Return *result* in about *most* bytes. Values that are too long are replaced by *where* to find them."""
    sizes = {name: len(json.dumps(value, default=list)) for name, value in result.items()}
    left = most - sum(len(name) + 4 for name in sizes)
    shortened = dict(result)
    for name in sorted(sizes, key=lambda key: -sizes[key]):
        if sum(sizes.values()) <= left:
            break
        shortened[name] = f"({sizes[name]} bytes: {where})"
        sizes[name] = len(str(shortened[name]))
    return shortened


def check_items(step: StepDef, items: Sequence[object]) -> None:
    """Refuse a list with an item twice, or with more items than a step may dispatch."""
    if len(items) > MOST_DISPATCHES:
        raise UsageError(
            f"step `{step.id}` would create {len(items)} dispatches; the limit is {MOST_DISPATCHES}",
            code="TOO_MANY_DISPATCHES",
            hint="use fewer items, for example by grouping several into one",
            step=step.id,
        )
    for number, item in enumerate(items):
        if item in items[:number]:
            raise UsageError(
                f"step `{step.id}` would dispatch `{phrases.in_words(item)[:60]}` twice",
                code="BAD_VALUES",
                hint="give each item once",
                step=step.id,
            )


def _items(work: Dispatch, values: Mapping[str, object], step: StepDef) -> list[object]:
    if work.over is None:
        return [None]
    items = values.get(work.over) if isinstance(work.over, str) else work.over
    if items is None:
        return []
    if not isinstance(items, (list, tuple)):
        items = [items]
    check_items(step, items)
    return list(items)


def _filled(value: object, values: Mapping[str, object]) -> object:
    """Return a variable's value: a placeholder alone keeps the type of its value."""
    if not isinstance(value, str):
        return value
    whole = re.match(_WHOLE, value)
    return values.get(whole.group(1)) if whole else placeholders.fill(value, values)
