"""What an agent reads after it asked or answered questions, and what it answers with when its work has ended."""

from __future__ import annotations

import json

from flowrail.command import Command, Hint
from flowrail.formatters.block import Show
from flowrail.formatters.guidance.step_work import LONGEST_RESULT, prompt
from flowrail.machines.agents import cut
from flowrail.machines.guidance.agent_work import WorkResult
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.offers import OfferedTransition
from flowrail.session_status import OPEN
from flowrail.text.safe_text import visible

ANSWER = (
    "This dispatch has ended. If another agent launched you for it, end your answer with the lines below, word for word; "
    "above them, write only what the last step asked you to give. If you did it yourself, do the next dispatch, or, after "
    "the last, run the command in the line NEXT."
)


def result_lines(result: WorkResult, show: Show) -> list[str]:
    """Return the lines that an agent answers with when its work has ended."""
    facts = cut(result.facts, LONGEST_RESULT, show(result.whole))
    return [
        f"RESULT {result.of}",
        f"FACTS {json.dumps(facts, ensure_ascii=False, default=list)}",
        f"NEXT for the agent that launched this one: {show(result.next)}",
    ]


def answered(guidance: Guidance, resume: Command, show: Show = str) -> str:
    """Return what to do after answers were recorded, in at most three lines."""
    waiting = guidance.open_questions
    ready = [offer for offer in guidance.next if not offer.waits_for and not _requires_facts(offer)]
    then: Command | Hint | None
    if guidance.status not in OPEN:
        text, then = f"The session is {guidance.status}. This prints what to do next:", resume
    elif waiting:
        text = f"Still open: {', '.join(question.id for question in waiting)}. Ask the user, then run:"
        then = waiting[0].command
    elif guidance.relaunch_command:
        text = "Launch a new agent with just this prompt. It continues the work:"
        then = prompt(guidance.relaunch_command)
    elif len(ready) == len(guidance.next) == 1:
        text = "Do what the step asks after the answer, if anything. Then report the step:"
        then = ready[0].command
    else:
        text, then = "Continue with the step. This prints it again:", resume
    return visible(Hint(f"Recorded. {text}\n", then or "").render(show))


def _requires_facts(offer: OfferedTransition) -> bool:
    return any(arg.required for arg in offer.wants.values())
