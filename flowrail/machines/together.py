"""What is told of a step's agents, questions and findings, beside the step itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flowrail.machines import asking, dispatching, reviewing
from flowrail.machines.asking import Asked
from flowrail.machines.definition import StepDef
from flowrail.machines.dispatching import Dispatched
from flowrail.machines.guidance import DispatchView, Guidance, QuestionView, command
from flowrail.machines.session import Session

LONGEST_RESULT = 8_000


def with_others(
    told: Guidance,
    step: StepDef,
    session: Session,
    from_agents: Sequence[Session],
    *,
    store: str | None,
    place: str | None,
) -> Guidance:
    """Return *told* with the dispatches, questions and findings of the step at hand."""
    dispatches = dispatching.states(session)
    questions = [_question(each, session, store) for each in asking.asked(session)]
    for agent in from_agents:
        questions += [_question(each, agent, place) for each in asking.asked(agent) if each.is_open]
    findings = reviewing.findings(session) if step.gate is not None else ()
    return told._replace(
        dispatches=tuple(_dispatch(each, session, place) for each in dispatches),
        join=dispatching.join_of(step, dispatches) if dispatches else None,
        questions=tuple(questions),
        findings=tuple(each for each in findings if each.is_open),
    )


def handed_back(session: Session, place: str | None) -> tuple[str, ...]:
    """Return what an agent is to answer, word for word, when its work for another session has ended."""
    parent = session.parent
    resume = command("resume", str(parent["session"]), store=place)
    outcome = "ok" if session.status == "completed" else "fail"
    return (
        "The work is done. Return the lines below word for word as your whole answer, nothing else:",
        "\n".join(
            (
                f"RESULT {outcome} of {session.skill}, session {session.id}, dispatch {parent['dispatch']}",
                f"FACTS {facts_line(session)}",
                f"NEXT for whoever launched this agent: {resume}",
            )
        ),
    )


def facts_line(session: Session) -> str:
    """Return the facts that an agent reported, on one line, long ones cut."""
    line = json.dumps(session.state, ensure_ascii=False, default=list)
    return (
        line
        if len(line) <= LONGEST_RESULT
        else f"{line[:LONGEST_RESULT]}… (all of it: flow status {session.id} --json)"
    )


def _dispatch(each: Dispatched, session: Session, place: str | None) -> DispatchView:
    return DispatchView(
        id=each.id,
        agent=each.agent,
        workflow=each.workflow,
        vars=each.vars,
        model=each.model,
        status=each.status,
        holder=each.holder,
        expires_at=each.expires_at,
        child=each.child,
        outcome=each.outcome,
        command=command("claim", session.id, each.id, store=place),
        item=each.item,
        result=each.result,
    )


def _question(each: Asked, session: Session, store: str | None) -> QuestionView:
    options: list[dict[str, Any]] = [
        {
            "label": option.label,
            "description": option.description,
            "outcome": option.outcome,
            "command": command("answer", session.id, f"{each.id}={option.label}", store=store),
        }
        for option in each.options
    ]
    return QuestionView(
        id=each.id,
        header=each.header,
        text=each.text,
        options=tuple(options),
        multi=each.multi,
        answer=each.answer,
        session=session.id,
        source=each.source,
        command=command("answer", session.id, f"{each.id}=OPTION", store=store),
    )
