"""Questions, answers and findings: as text for agents, as data for programs."""

from __future__ import annotations

from flowrail.command import Command
from flowrail.formatters.guidance.content import PROMPT, Show, plain
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.question_relay import as_host_questions, as_xml
from flowrail.machines.guidance.views import PendingQuestions
from flowrail.machines.sessions.session import RecordedFinding
from flowrail.text.safe_text import visible


def put_text(pending: PendingQuestions, show: Show = str) -> str:
    """Return the block that is an agent's whole answer; it shows the launching agent how to continue."""
    return str(as_xml(pending.questions, answer=show(pending.answer)))


def put_data(pending: PendingQuestions, show: Show = str) -> dict[str, object]:
    """Return pending questions, also in the form that a host's question tool takes."""
    return {
        "session": pending.session,
        "questions": plain(pending.questions),
        "host": as_host_questions(pending.questions),
        "block": put_text(pending, show),
        "answer_command": pending.answer,
        "resume_command": pending.resume,
    }


def answered(guidance: Guidance, store: str | None) -> str:
    """Return what to do after answers were recorded, in at most three lines."""
    waiting = guidance.open_questions
    if waiting:
        names = ", ".join(question.id for question in waiting)
        commands = [visible(str(question.command)) for question in waiting[:1] if question.command]
        return "\n".join((f"Recorded. Still open: {names}. Ask the user, then run:", *commands))
    if guidance.parent:
        prompt = PROMPT.format(command=visible(str(guidance.relaunch_command)))
        return f"Recorded. Launch a new agent with just this prompt. It continues the work:\n{prompt}"
    resume = visible(str(Command("resume", guidance.session, store=store)))
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
