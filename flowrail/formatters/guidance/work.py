"""Dispatches, results, questions and findings: as text for agents, as data for programs."""

from __future__ import annotations

from flowrail.command import Command
from flowrail.formatters.guidance.content import FINDING, Keep, Show, plain, result_lines, text_pieces
from flowrail.machines.engine.questions import SUB_AGENT_QUESTION_FORMAT
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.question_relay import as_host_questions, as_xml
from flowrail.machines.guidance.views import Assignment, DispatchResult, PendingQuestions
from flowrail.machines.sessions.session import AskedQuestion, RecordedFinding
from flowrail.text.phrases import in_words
from flowrail.text.placeholders import RepeatableTexts
from flowrail.text.safe_text import Markup, Verbatim, block, element, one_line, visible


def assignment_text(assignment: Assignment, show: Show = str) -> str:
    """Return the task of a free-form dispatch as text for its agent."""
    ok, fail = assignment.finish
    answers = [
        f"Asked the user: {one_line(text)}  Answer: {one_line(said)}" for text, said in assignment.answered
    ]
    checks = [f"  {one_line(expected)}" for expected in assignment.evidence]
    return "\n".join(
        (
            visible("\n".join(_pieces(assignment))),
            "",
            *(["Checked before the work counts as done:", *checks, ""] if checks else []),
            *([*answers, ""] if answers else []),
            "When this is done, run the first command, with each fact of the result as -s NAME=VALUE.",
            "If it cannot be done, run the second, with -s reason=TEXT. Return what it prints as your answer.",
            f"  {visible(show(ok))}",
            f"  {visible(show(fail))}",
            "",
            SUB_AGENT_QUESTION_FORMAT,
            element("ask_command", Verbatim(show(assignment.ask))),
            *(
                [element("finding_command", Verbatim(show(assignment.finding)), append=FINDING)]
                if assignment.finding
                else []
            ),
        )
    )


def assignment_xml(assignment: Assignment, show: Show = str) -> str:
    """Return the same task as one well-formed element, so that no value can pass for another part of it."""
    dispatch = assignment.dispatch
    head = {"session": assignment.session, "dispatch": dispatch.id, "agent": dispatch.agent}
    about = {"model": dispatch.model, "until": dispatch.expires_at}
    said = [block("answered", [element("text", text), answer]) for text, answer in assignment.answered]
    ways = [
        element("case", Verbatim(show(command)), outcome=word)
        for word, command in zip(("ok", "fail"), assignment.finish, strict=True)
    ]
    finding = (
        [element("finding_command", Verbatim(show(assignment.finding)), append=FINDING)]
        if assignment.finding
        else []
    )
    checks = [element("check", expected) for expected in assignment.evidence]
    lines = [
        block("current_action", _pieces(assignment)),
        *([block("evidence", checks)] if checks else []),
        *said,
        element("how", _HOW),
        block("next", ways),
        SUB_AGENT_QUESTION_FORMAT,
        element("ask_command", Verbatim(show(assignment.ask))),
        *finding,
    ]
    return str(block("work_output", lines, **head, **about))


_HOW = (
    "When the work in current_action is done, run the ok command of next and append each fact of the result as "
    "-s NAME=VALUE. If it cannot be done, run the fail command with -s reason=TEXT. Return what that prints as your "
    "whole answer."
)


def _pieces(assignment: Assignment) -> list[str | Markup]:
    given = [element("var", in_words(value), name=name) for name, value in assignment.given.items()]
    more = [block("context", given)] if given else []
    return [*text_pieces(assignment.prompt, RepeatableTexts(assignment.resources)), *more]


def assignment_data(assignment: Assignment, keep: Keep = str) -> dict[str, object]:
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
        "finish": [keep(command) for command in assignment.finish],
        "ask_command": keep(assignment.ask),
        "finding_command": keep(assignment.finding) if assignment.finding else None,
        "evidence": list(assignment.evidence),
        "answered": [{"question": text, "answer": said} for text, said in assignment.answered],
    }


def ended_data(ended: DispatchResult, show: Show = str) -> dict[str, object]:
    """Return the end of a piece of work."""
    return {
        "session": ended.session,
        "dispatch": ended.dispatch.id,
        "status": ended.dispatch.status,
        "outcome": ended.dispatch.outcome,
        "result": plain(ended.dispatch.result),
        "replayed": ended.replayed,
        "answer": result_lines(ended.answer, show),
    }


def put_text(put: PendingQuestions, show: Show = str) -> str:
    """Return the block that is an agent's whole answer; it shows the launching agent how to continue."""
    return str(as_xml(put.written, answer=show(put.answer)))


def put_data(put: PendingQuestions, show: Show = str, keep: Keep = str) -> dict[str, object]:
    """Return questions that were put, also as a host's question tool takes them."""
    return {
        "session": put.session,
        "questions": [_question(each) for each in put.questions],
        "host": as_host_questions(put.written),
        "block": put_text(put, show),
        "answer_command": keep(put.answer),
        "resume_command": keep(put.resume),
    }


def _question(each: AskedQuestion) -> dict[str, object]:
    return {**plain(each._asdict()), "options": [option._asdict() for option in each.options]}


def answered(guidance: Guidance, place: str | None, show: Show = str) -> str:
    """Return what follows recorded answers, in at most three lines."""
    waiting = [question for question in guidance.questions if question.answer is None]
    if waiting:
        names = ", ".join(question.id for question in waiting)
        more = [visible(show(question.command)) for question in waiting[:1] if question.command]
        return "\n".join((f"Recorded. Still open: {names}. Ask the user, then run:", *more))
    resume = visible(show(Command("resume", guidance.session, store=place)))
    if guidance.parent:
        task = "Its whole task is: run this command and do what it prints, step by step, to the end."
        return f"Recorded. Launch a new agent for this work.\n{task}\n{resume}"
    ready = [
        offer
        for offer in guidance.next
        if not (offer.waits_for or any(want.required for want in offer.wants))
    ]
    if len(ready) == len(guidance.next) == 1 and ready[0].command:
        done = "Recorded. Do what the step asks after the answer, if anything. Then report the step:"
        return f"{done}\n{visible(show(ready[0].command))}"
    return f"Recorded. Continue with the step. This prints it again:\n{resume}"


def finding_data(home: str, finding: RecordedFinding) -> dict[str, object]:
    """Return a finding and the session that keeps it."""
    return {"session": home, **plain(finding._asdict()), "open": finding.is_open}
