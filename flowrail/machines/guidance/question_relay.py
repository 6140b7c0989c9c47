"""How an agent's questions reach the user: the instructions for agents, and the block that they write.

An agent that was launched by another one cannot ask the user itself. It returns one block of XML,
and nothing else, so that nobody has to guess from prose whether it asks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowrail.machines.definition.step_parts import Option, Question
from flowrail.machines.engine.question_input import QuestionsError, parse_questions
from flowrail.text.safe_text import HIDDEN, Markup

__all__ = [
    "QUESTION_RELAY_HANDLER",
    "QUESTION_RELAY_UPWARDS",
    "SUB_AGENT_QUESTION_FORMAT",
    "Option",
    "Question",
    "QuestionsError",
    "as_host_questions",
    "as_xml",
    "parse_questions",
]

SUB_AGENT_QUESTION_FORMAT = Markup("""\
<question_format>
You cannot ask the user yourself. If the user must decide something that changes what you do next, return the question instead of an answer. Do not ask what you can look up or what has an obvious default.
1. Save your work and findings where your task says; a flow session keeps what you reported. You will be launched again and will not remember this turn.
2. Put all open questions into one block like the one below: 1 to 3 questions with 2 or 3 options each. Every option must be something that can be done. Use multi="true" if the user may choose several. An id is lower-case letters, digits and underscores; a header is limited to 12 characters. The user can always answer in their own words; do not add an option for that.
3. If your work is a flow session, pass the block to `flow ask SESSION -` and return what it prints. Otherwise return the block.
The block is your whole answer: no word before or after it, no code fence around it.
<needs_user_input>
<question id="cache" header="Cache" multi="false">
<text>Where should the cache be kept?</text>
<option label="In memory">Nothing to run; empty after a restart</option>
<option label="Redis">Shared by all hosts; one more service to run</option>
</question>
</needs_user_input>
</question_format>""")  # noqa: E501 - a paragraph is one line to the agent that reads it
"""For a sub-agent: how to return questions."""

QUESTION_RELAY_HANDLER = Markup("""\
<question_relay>
An agent whose whole answer is a needs_user_input block has questions, and is not finished. Report no outcome for it and do not use its work.
1. Let the other agents that you launched return first, then ask the questions of all of them together, in as few calls of your question tool (AskUserQuestion in Claude Code) as possible.
2. Show header, text and options to the user word for word. Answer nothing yourself, and leave no option out.
3. If the block has an answer attribute, run that command with the answers filled in: ID=LABEL, or ID=other:TEXT for the user's own words. Then do what it prints.
4. If it has none, launch a new agent; do not resume the old one. Give it the same prompt, the location of its saved work, and each answer as id: label.
If an answer mixes other text with a block, launch a new agent and ask for the block alone.
</question_relay>""")  # noqa: E501 - the same
"""For an agent that launches others: how to recognise their questions and return answers."""

QUESTION_RELAY_UPWARDS = Markup("""\
<question_relay>
An agent whose whole answer is a needs_user_input block has questions, and is not finished. Report no outcome for it and do not use its work.
You work for another agent and cannot ask the user either. Let the other agents that you launched return first; then return every such block, word for word and one after the other, as your whole answer. Answer nothing yourself.
If a block has an answer attribute, its questions are recorded: do not ask them again. Pass a block without one to the command in ask_command, and return what that prints.
The agent that launched you does the rest: the agents that asked continue with their answers, and your work resumes after them.
If an answer mixes other text with a block, launch a new agent and ask for the block alone.
</question_relay>""")  # noqa: E501 - the same
"""For a sub-agent that launches others: it passes their questions on."""


def as_xml(questions: Sequence[Question], *, answer: str | None = None) -> Markup:
    """Return *questions* as the block that an agent returns, without outcomes.

    *answer* is the command that records the answers. It is part of the block, because the
    launching agent acts on the block and not on anything printed before.
    """
    lines = ["<needs_user_input>" if answer is None else f'<needs_user_input answer="{_escaped(answer)}">']
    for question in questions:
        more = "" if question.default is None else f' default="{_escaped(question.default)}"'
        more += "" if question.deadline is None else f' deadline="{question.deadline}"'
        multi = "true" if question.multi_select else "false"
        head = f'id="{_escaped(question.id)}" header="{_escaped(question.header)}" multi="{multi}"{more}'
        lines += [f"<question {head}>", f"<text>{_escaped(question.text)}</text>"]
        for option in question.options:
            about = _escaped(option.description)
            lines.append(f'<option label="{_escaped(option.label)}">{about}</option>')
        lines.append("</question>")
    return Markup("\n".join([*lines, "</needs_user_input>"]))


def as_host_questions(questions: Sequence[Question]) -> dict[str, list[dict[str, object]]]:
    """Return *questions* as the arguments of Claude Code's ``AskUserQuestion``."""
    return {
        "questions": [
            {
                "question": question.text,
                "header": question.header,
                "options": [
                    {"label": option.label, "description": option.description} for option in question.options
                ],
                "multiSelect": question.multi_select,
            }
            for question in questions
        ]
    }


_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_UNUSUAL = rf'[^\n\t -~\u00a1-\uffff\U00010000-\U0010ffff]|[&<>"]|{HIDDEN}'
_NO_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"


def _escaped(text: str) -> str:
    """Return *text* for content or an attribute. Unlike with `escape`, hidden characters can be read back."""

    def put(found: re.Match[str]) -> str:
        sign = found.group()
        if re.match(_NO_XML, sign):
            return f"⟨U+{ord(sign):04X}⟩"
        return _NAMED.get(sign) or f"&#x{ord(sign):X};"

    return re.sub(_UNUSUAL, put, text)  # compiled when first used, which few commands do
