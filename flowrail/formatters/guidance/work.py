"""What an agent reads after it asked or answered questions."""

from __future__ import annotations

from flowrail.command import Command
from flowrail.formatters.guidance.content import PROMPT, Show
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.question_relay import as_xml
from flowrail.machines.guidance.views import PendingQuestions
from flowrail.text.safe_text import visible


def put_text(pending: PendingQuestions, show: Show = str) -> str:
    """Return the block that is an agent's whole answer; it shows the launching agent how to continue."""
    return str(as_xml(pending.questions, answer=show(pending.answer_command)))


def answered(guidance: Guidance, resume: Command, show: Show = str) -> str:
    """Return what to do after answers were recorded, in at most three lines."""
    waiting = guidance.open_questions
    if waiting:
        names = ", ".join(question.id for question in waiting)
        commands = [visible(show(question.command)) for question in waiting[:1] if question.command]
        return "\n".join((f"Recorded. Still open: {names}. Ask the user, then run:", *commands))
    if guidance.relaunch_command:
        prompt = PROMPT.format(command=visible(show(guidance.relaunch_command)))
        return f"Recorded. Launch a new agent with just this prompt. It continues the work:\n{prompt}"
    ready = [
        offer
        for offer in guidance.next
        if not (offer.waits_for or any(want.required for want in offer.wants))
    ]
    if len(ready) == len(guidance.next) == 1 and ready[0].command:
        next_text = "Recorded. Do what the step asks after the answer, if anything. Then report the step:"
        return f"{next_text}\n{visible(show(ready[0].command))}"
    return f"Recorded. Continue with the step. This prints it again:\n{visible(show(resume))}"
