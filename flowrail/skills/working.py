"""What agents do for a session beside stepping it: claim work, end it, ask, answer, record findings.

None of these moves the session: each adds a record of its own and leaves the revision alone, so that
commands printed before stay good.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowrail.errors import ConflictError, UsageError
from flowrail.machines import asking, dispatching, reviewing
from flowrail.machines.advance import settled, standing, start
from flowrail.machines.asking import Asked, Choice, Put
from flowrail.machines.definition import Definition, Outcome, StepDef
from flowrail.machines.dispatching import (
    CANCELLED,
    CLAIMED,
    DONE,
    Dispatched,
    DispatchGoneError,
    Ended,
    Handed,
)
from flowrail.machines.graph import reviews
from flowrail.machines.guidance import command, guide
from flowrail.machines.judgement import in_context, names_in
from flowrail.machines.kept import Change, Kept
from flowrail.machines.questions import Question
from flowrail.machines.reviewing import Recorded
from flowrail.machines.session import Session
from flowrail.machines.wording import listed
from flowrail.skills.family import finished, reconciled, still_theirs
from flowrail.skills.opening import Opened, open_session, open_skill
from flowrail.skills.runs import Answer, World, answer_of, look

MOST_GENERATIONS = 12
"""How deep agents may give work on to agents."""
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


class TooDeepError(ConflictError):
    """Agents gave work to agents that gave work to agents, and on without end."""

    code = "TOO_DEEP"


class ResultTooLongError(UsageError):
    """The result of a piece of work is longer than its session keeps."""

    code = "RESULT_TOO_LONG"


class NotWaitingError(ConflictError):
    """There is no question to answer."""

    code = "NOT_WAITING"


def claim(world: World, session_id: str, dispatch_id: str, holder: str | None = None) -> Answer | Handed:
    """Take a piece of work: the first step of a session of one's own, or a prompt."""
    with world.store.change(session_id, wait=world.wait) as change:
        opened, session, step = _at_work(world, change)
        dispatch = dispatching.one(session, dispatch_id)
        now = world.now()
        if not dispatching.claimable(dispatch, now):
            raise DispatchGoneError(
                f"dispatch `{dispatch.id}` is {_held(dispatch)}",
                hint="take another; `flow status` of the session lists what is left",
                dispatch=dispatch.id,
                status=dispatch.status,
                holder=dispatch.holder,
                expires_at=dispatch.expires_at,
            )
        taken = dispatch._replace(
            status=CLAIMED,
            holder=holder or world.by,
            expires_at=asking.later(now, dispatch.lease),
            child=None,
            outcome=None,
            result={},
            token=_token(),
        )
        review = _review_at(opened.workflow, session, step)
        child = _begin_child(world, session, taken, now, review) if taken.workflow else None
        if child is not None:
            taken = taken._replace(child=child[0].session.id, token=child[0].session.id)
        note = {"dispatch": taken.id, "holder": taken.holder, "child": taken.child}
        change.commit(dispatching.replaced(session, taken), kind="claim", at=now, by=world.by, note=note)
    if child is not None:
        return answer_of(world, *child)
    values = names_in(in_context(step, session.params, session.state, session.visit))
    prompt = dispatching.prompt_of(step, taken, values) or "\n\n".join(_told(opened, session))
    where = ("--token", str(taken.token))
    ways = tuple(
        command("finish", session_id, taken.id, word, *where, store=world.store.path)
        for word in (Outcome.OK, Outcome.FAIL)
    )
    return Handed(session_id, taken, prompt, ways)


def finish(
    world: World,
    session_id: str,
    dispatch_id: str,
    outcome: str,
    *,
    token: str,
    facts: Mapping[str, Any] | None = None,
) -> Ended:
    """End a free-form piece of work with its result; the same end again is answered again."""
    if outcome not in {Outcome.OK, Outcome.FAIL}:
        raise UsageError(f"`{outcome[:40]}` does not end a piece of work", hint="report ok or fail")
    with world.store.change(session_id, wait=world.wait) as change:
        _, session, _ = _at_work(world, change)
        dispatch = dispatching.one(session, dispatch_id)
        if dispatch.token != token:
            raise DispatchGoneError(
                f"dispatch `{dispatch.id}` is {_held(dispatch)}, and not by that token",
                hint="stop here and say so; the result of another holder counts",
                dispatch=dispatch.id,
            )
        result = _fitting(dict(facts or {}), dispatching.share(len(session.dispatches)))
        if dispatch.status == DONE:
            if dispatch.outcome == outcome and dict(dispatch.result) == result:
                return _ended(world, session, dispatch, replayed=True)
            raise DispatchGoneError(
                f"dispatch `{dispatch.id}` has ended with `{dispatch.outcome}` already",
                hint="nothing more is to be reported of it",
                dispatch=dispatch.id,
            )
        if dispatch.status != CLAIMED or dispatch.child is not None:
            raise DispatchGoneError(
                f"dispatch `{dispatch.id}` is {_held(dispatch)}",
                hint=f"its own session ends it: {dispatch.child}" if dispatch.child else "claim it first",
                dispatch=dispatch.id,
            )
        done = finished(dispatch, outcome=outcome, result=result)
        after = dispatching.replaced(session, done)
        change.commit(
            after, kind="finish", at=world.now(), by=world.by, note={"dispatch": done.id, "outcome": outcome}
        )
    return _ended(world, after, done)


def _fitting(result: dict[str, Any], most: int) -> dict[str, Any]:
    size = len(_json(result))
    if size > most:
        raise ResultTooLongError(
            f"the result would have {size} bytes; {most} are the most for each of these agents",
            hint="put long texts into a file and report its path",
            bytes=size,
        )
    return result


def cancel(world: World, session_id: str, dispatch_id: str) -> Ended:
    """Call off a piece of work that has not ended; whoever holds it is refused from then on."""
    with world.store.change(session_id, wait=world.wait) as change:
        _, session, _ = _at_work(world, change)
        dispatch = dispatching.one(session, dispatch_id)
        if dispatch.ended:
            return _ended(world, session, dispatch, replayed=dispatch.status == CANCELLED)
        off = dispatch._replace(status=CANCELLED)
        after = dispatching.replaced(session, off)
        change.commit(after, kind="cancel", at=world.now(), by=world.by, note={"dispatch": off.id})
    return _ended(world, after, off)


def ask(world: World, session_id: str, questions: Sequence[Question]) -> Put:
    """Put an agent's questions to the user; its session waits until they are answered."""
    with world.store.change(session_id, wait=world.wait) as change:
        now = world.now()
        session = settled(change.kept.session, now)
        opened = open_session(session, world.store.definition(session_id), world.roots, world.state)
        standing(opened.workflow, session)
        still_theirs(world.store, session)
        known = asking.asked(session)
        put = tuple(_from_agent(each, now) for each in questions)
        taken = {each.id for each in known if each.is_open} & {each.id for each in put}
        same = [each for each in known if each.id in {one.id for one in put} and each.is_open]
        if taken and [(each.text, each.options) for each in same] == [
            (each.text, each.options) for each in put
        ]:
            return _put(world, session, put)
        if taken:
            raise ConflictError(
                f"question {listed(sorted(taken))} of session `{session_id}` is open already",
                hint="give the new one another id",
                questions=sorted(taken),
            )
        kept = [each for each in known if each.id not in {one.id for one in put}]
        after = asking.with_questions(session, [*kept, *put])
        change.commit(after, kind="ask", at=now, by=world.by, note={"questions": [each.id for each in put]})
    return _put(world, session, put)


def answer(world: World, session_id: str, pairs: Sequence[str], reason: str = "") -> Answer:
    """Record the user's answers, ``Q=OPTION`` each, and show how to go on."""
    given = _pairs(pairs)
    with world.store.change(session_id, wait=world.wait) as change:
        session = change.kept.session
        now = world.now()
        still_theirs(world.store, session)
        known = {each.id: each for each in asking.asked(session)}
        if not known or not session.is_open:
            raise NotWaitingError(
                f"session `{session_id}` waits for no answer",
                hint=f"see where it stands: flow status {session_id}",
            )
        answered = dict(known)
        for name, words in given.items():
            answered[name] = _answered(known, name, words, now, world.by, reason)
        if answered != known:
            after = asking.with_questions(session, list(answered.values()))
            note = {"answers": given, **({"reason": reason} if reason else {})}
            change.commit(after, kind="answer", at=now, by=world.by, note=note)
    return look(world, session_id)


def add_finding(
    world: World,
    session_id: str,
    *,
    severity: str,
    text: str,
    place: str | None = None,
    item: str | None = None,
) -> tuple[str, Recorded]:
    """Record a finding where it counts: in the nearest session above that has a gate, or in this one."""
    home = _home_of_findings(world, session_id)
    with world.store.change(home, wait=world.wait) as change:
        session = change.kept.session
        opened = open_session(session, world.store.definition(home), world.roots, world.state)
        standing(opened.workflow, session)
        now = world.now()
        after, finding = reviewing.record(
            opened.workflow,
            session,
            severity=severity,
            text=text,
            place=place,
            item=item,
            at=now,
            by=session_id if session_id != home else world.by,
        )
        change.commit(after, kind="finding", at=now, by=world.by, note={"finding": finding.id})
    return home, finding


def resolve_finding(world: World, session_id: str, finding_id: str, note: str = "") -> tuple[str, Recorded]:
    """Record that a finding is settled."""
    home = _home_of_findings(world, session_id)
    with world.store.change(home, wait=world.wait) as change:
        session = change.kept.session
        opened = open_session(session, world.store.definition(home), world.roots, world.state)
        standing(opened.workflow, session)
        now = world.now()
        after, finding = reviewing.resolve(opened.workflow, session, finding_id, note=note, at=now)
        if after != session:
            change.commit(after, kind="resolve", at=now, by=world.by, note={"finding": finding.id})
    return home, finding


def list_findings(world: World, session_id: str) -> tuple[str, tuple[Recorded, ...]]:
    """Return every finding on record where those of *session_id* are kept."""
    home = _home_of_findings(world, session_id)
    return home, reviewing.findings(world.store.read(home).session)


def _at_work(world: World, change: Change) -> tuple[Opened, Session, StepDef]:
    session = settled(change.kept.session, world.now())
    definition = world.store.definition(session.id)
    opened = open_session(session, definition, world.roots, world.state)
    step = standing(opened.workflow, session)
    return opened, reconciled(world.store, session), step


def _review_at(workflow: Definition, session: Session, step: StepDef) -> str | None:
    """Return the review that work of *step* is part of, be it that of a session further up."""
    return step.id if step.id in reviews(workflow) else session.parent.get("review")


def _begin_child(
    world: World, parent: Session, dispatch: Dispatched, now: str, review: str | None
) -> tuple[Kept, Opened]:
    address = str(dispatch.workflow)
    depth = int(parent.parent.get("depth", 0)) + 1
    if depth > MOST_GENERATIONS:
        raise TooDeepError(
            f"session `{parent.id}` works for others {MOST_GENERATIONS} deep; it hands out nothing more",
            hint="mend the workflow that gives its work to itself",
            session=parent.id,
            workflow=address,
        )
    opened = open_skill(address, world.roots, world.state)
    params = {name: value for name, value in dispatch.vars.items() if value is not None}
    child = start(
        opened.workflow,
        params,
        session_id=world.store.new_id(address),
        source=opened.source,
        now=now,
        parent={
            "session": parent.id,
            "dispatch": dispatch.id,
            "depth": depth,
            **({"review": review} if review else {}),
        },
    )
    guide(opened.workflow, child, place=world.store.path)
    return world.store.create(child, opened.kept, at=now, by=world.by, note={"for": parent.id}), opened


def _told(opened: Opened, session: Session) -> tuple[str, ...]:
    return guide(opened.workflow, session).actions


def _ended(world: World, session: Session, dispatch: Dispatched, *, replayed: bool = False) -> Ended:
    resume = command("resume", session.id, store=world.store.path)
    what = dispatch.outcome if dispatch.status == DONE else dispatch.status
    facts = f"FACTS {_json(dispatch.result)}"
    lines = (
        f"RESULT {what} of dispatch {dispatch.id}",
        facts,
        f"NEXT for whoever launched this agent: {resume}",
    )
    return Ended(session.id, dispatch, lines, replayed)


def _json(value: Mapping[str, Any]) -> str:
    import json

    return json.dumps(dict(value), ensure_ascii=False, default=list)


def _from_agent(question: Question, now: str) -> Asked:
    return Asked(
        id=question.id,
        header=question.header,
        text=question.text,
        options=tuple(Choice(option.label, None, option.description) for option in question.options),
        multi=question.multi_select,
        source=asking.BY_AGENT,
        default=question.default,
        due=asking.later(now, question.deadline) if question.deadline and question.default else None,
    )


def _put(world: World, session: Session, questions: Sequence[Asked]) -> Put:
    words = [f"{each.id}=OPTION" for each in questions]
    return Put(
        session=session.id,
        questions=tuple(questions),
        answer=command("answer", session.id, *words, store=world.store.path),
        resume=command("resume", session.id, store=world.store.path),
    )


def _pairs(pairs: Sequence[str]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, word = pair.partition("=")
        if not equals or not word.strip():
            raise UsageError(
                f"`{pair[:60]}` is not QUESTION=OPTION", hint="write it as go=Yes, or go=other:TEXT"
            )
        given.setdefault(name, []).append(word.strip())
    return given


def _answered(
    known: Mapping[str, Asked], name: str, words: list[str], now: str, by: str, reason: str
) -> Asked:
    question = known.get(name)
    if question is None:
        raise asking.BadAnswerError(
            f"there is no question `{name[:40]}`", hint=f"there is {listed(known)}", questions=list(known)
        )
    if len(words) > 1 and not question.multi:
        raise asking.BadAnswerError(f"question `{name}` takes one answer", hint="give one", question=name)
    answered = question.answered(words, at=now, by=by, reason=reason)
    if question.answer is None:
        return answered
    if set(answered.answer or ()) == set(question.answer):
        return question
    raise ConflictError(
        f"question `{name}` was answered `{', '.join(question.answer)}` at {question.answered_at}",
        hint="an answer on record stays; go on from it",
        question=name,
    )


def _home_of_findings(world: World, session_id: str) -> str:
    """Return the nearest session from here upwards whose workflow has a gate; this one without any."""
    here: str = session_id
    for _ in range(MOST_GENERATIONS + 1):
        session = world.store.read(here).session
        if _has_gate(world.store.definition(here)):
            return here
        if not session.parent:
            break
        here = str(session.parent["session"])
    return session_id


def _has_gate(kept: Mapping[str, Any]) -> bool:
    """Return whether the workflow that a session keeps has a gate; its code is not needed for that."""
    workflow = kept.get("workflow")
    steps = workflow.get("steps") if isinstance(workflow, dict) else None
    return any(isinstance(step, dict) and step.get("gate") for step in steps or ())


def _held(dispatch: Dispatched) -> str:
    if dispatch.status == CLAIMED:
        return f"held by {dispatch.holder or 'somebody'} until {dispatch.expires_at}"
    if dispatch.status == DONE:
        return f"done, with `{dispatch.outcome}`"
    return "called off" if dispatch.status == CANCELLED else "not claimed"


def _token(random: Callable[[int], bytes] = os.urandom) -> str:
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in random(12))
