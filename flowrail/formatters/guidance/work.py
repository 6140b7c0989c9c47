"""Dispatches, results, questions and findings: as text for agents, as data for programs."""

from __future__ import annotations

from flowrail.command import Command
from flowrail.formatters.guidance.content import FINDING, Show, plain, result_lines, text_pieces
from flowrail.machines.engine.questions import SUB_AGENT_QUESTION_FORMAT
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.question_relay import as_host_questions, as_xml
from flowrail.machines.guidance.views import Assignment, DispatchResult, PendingQuestions
from flowrail.machines.sessions.session import RecordedFinding
from flowrail.text.phrases import in_words
from flowrail.text.placeholders import RepeatableTexts
from flowrail.text.safe_text import (
    Markup,
    block,
    content,
    element,
    one_line,
    printed_block,
    printed_element,
    visible,
    xml_verbatim,
)

_HOW = (
    "When the work in current_action is done, run the ok command of next and append each fact of the result as "
    "-s NAME=VALUE. If it cannot be done, run the fail command with -s reason=TEXT. Return what that prints as your "
    "whole answer."
)


def assignment_text(assignment: Assignment) -> str:
    """Return the task of a free-form dispatch as text for its agent."""
    lines = [visible("\n".join(_pieces(assignment))), ""]
    if assignment.answered:
        lines += [
            f"Asked the user: {one_line(question)}  Answer: {one_line(answer)}"
            for question, answer in assignment.answered
        ]
        lines.append("")
    lines += [
        "When this is done, run the first command, with each fact of the result as -s NAME=VALUE.",
        "If it cannot be done, run the second, with -s reason=TEXT. Return what it prints as your answer.",
        *(f"  {visible(str(command))}" for command in assignment.finish),
        "",
        *_commands(assignment, str),
    ]
    return "\n".join(lines)


def assignment_xml(assignment: Assignment, show: Show = str) -> str:
    """Return the same task as one well-formed element, so that no value can be taken for another part of it."""
    dispatch = assignment.dispatch
    lines = [printed_block("current_action", map(content, _pieces(assignment)))]
    lines += [
        printed_block("answered", [printed_element("text", question), xml_verbatim(answer)])
        for question, answer in assignment.answered
    ]
    cases = [
        printed_element("case", show(command), outcome=outcome)
        for outcome, command in zip(("ok", "fail"), assignment.finish, strict=True)
    ]
    lines += [printed_element("how", _HOW), printed_block("next", cases)]
    return printed_block(
        "work_output",
        [*lines, *_commands(assignment, show)],
        session=assignment.session,
        dispatch=dispatch.id,
        agent=dispatch.agent,
        model=dispatch.model,
        until=dispatch.expires_at,
    )


def _commands(assignment: Assignment, show: Show) -> list[str]:
    """Return how the agent asks the user, and how a reviewer records a finding."""
    lines = [SUB_AGENT_QUESTION_FORMAT, printed_element("ask_command", show(assignment.ask))]
    if assignment.finding:
        lines.append(printed_element("finding_command", show(assignment.finding), append=FINDING))
    return lines


def _pieces(assignment: Assignment) -> list[str | Markup]:
    variables = [element("var", in_words(value), name=name) for name, value in assignment.given.items()]
    context = [block("context", variables)] if variables else []
    return [*text_pieces(assignment.prompt, RepeatableTexts(assignment.resources.__getitem__)), *context]


def assignment_data(assignment: Assignment) -> dict[str, object]:
    """Return the same as plain data."""
    return {
        "session": assignment.session,
        "dispatch": assignment.dispatch.id,
        "agent": assignment.dispatch.agent,
        "model": assignment.dispatch.model,
        "item": plain(assignment.dispatch.item),
        "vars": plain(assignment.dispatch.vars),
        "expires_at": assignment.dispatch.expires_at,
        "token": assignment.dispatch.token,
        "prompt": "\n".join(_pieces(assignment)),
        "finish": list(assignment.finish),
        "ask_command": assignment.ask,
        "finding_command": assignment.finding,
        "answered": [{"question": text, "answer": answer} for text, answer in assignment.answered],
    }


def ended_data(result: DispatchResult, show: Show = str) -> dict[str, object]:
    """Return the end of a dispatch as plain data."""
    return {
        "session": result.session,
        "dispatch": result.dispatch.id,
        "status": result.dispatch.status,
        "outcome": result.dispatch.outcome,
        "result": plain(result.dispatch.result),
        "replayed": result.replayed,
        "answer": result_lines(result.answer, show),
    }


def put_text(pending: PendingQuestions, show: Show = str) -> str:
    """Return the block that is an agent's whole answer; it shows the launching agent how to continue."""
    return str(as_xml(pending.written, answer=show(pending.answer)))


def put_data(pending: PendingQuestions, show: Show = str) -> dict[str, object]:
    """Return pending questions, also in the form that a host's question tool takes."""
    return {
        "session": pending.session,
        "questions": plain(pending.questions),
        "host": as_host_questions(pending.written),
        "block": put_text(pending, show),
        "answer_command": pending.answer,
        "resume_command": pending.resume,
    }


def answered(guidance: Guidance, store: str | None) -> str:
    """Return what to do after answers were recorded, in at most three lines."""
    waiting = [question for question in guidance.questions if question.answer is None]
    if waiting:
        names = ", ".join(question.id for question in waiting)
        commands = [visible(str(question.command)) for question in waiting[:1] if question.command]
        return "\n".join((f"Recorded. Still open: {names}. Ask the user, then run:", *commands))
    resume = visible(str(Command("resume", guidance.session, store=store)))
    if guidance.parent:
        task = "Its whole task is: run this command and do what it prints, step by step, to the end."
        return f"Recorded. Launch a new agent for this work.\n{task}\n{resume}"
    ready = [
        offer
        for offer in guidance.next
        if not (offer.waits_for or any(want.required for want in offer.wants))
    ]
    if len(ready) == len(guidance.next) == 1 and ready[0].command:
        next_text = "Recorded. Do what the step asks after the answer, if anything. Then report the step:"
        return f"{next_text}\n{visible(str(ready[0].command))}"
    return f"Recorded. Continue with the step. This prints it again:\n{resume}"


def finding_data(session_id: str, finding: RecordedFinding) -> dict[str, object]:
    """Return a finding and the session that keeps it."""
    return {"session": session_id, **plain(finding), "open": finding.is_open}
