"""The block of XML in which an agent returns its questions.

An agent that was launched by another one cannot ask the user itself. It returns one block of XML
and nothing else, so that the launching agent recognises the questions reliably.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowrail.machines.session import AskedQuestion
from flowrail.text.safe_text import HIDDEN, Markup

_ASK_USER = (
    "<!-- Ask the user these questions word for word, then run the command in answer with the label of each reply, or with "
    "other:TEXT for the user's own words. -->"
)


def as_xml(
    questions: Sequence[AskedQuestion], *, answer: str | None = None, asks_user: bool = False
) -> Markup:
    """Return *questions* as the block that an agent returns, without outcomes.

    *answer* is the command that records the answers. It is part of the block, because the
    launching agent acts on the block and not on anything printed before. An agent that was not
    launched by another one *asks the user* itself: a comment in the block says so.
    """
    lines = ["<needs_user_input>" if answer is None else f'<needs_user_input answer="{_escaped(answer)}">']
    lines += [_ASK_USER] if asks_user else []
    for question in questions:
        multi = "true" if question.multi else "false"
        header = f' header="{_escaped(question.header)}"' if question.header else ""
        head = f'id="{_escaped(question.id)}"{header} multi="{multi}"'
        lines += [f"<question {head}>", f"<text>{_escaped(question.text)}</text>"]
        for option in question.options:
            about = _escaped(option.description)
            lines.append(f'<option label="{_escaped(option.label)}">{about}</option>')
        lines.append("</question>")
    return Markup("\n".join([*lines, "</needs_user_input>"]))


def as_host_questions(questions: Sequence[AskedQuestion]) -> dict[str, list[dict[str, object]]]:
    """Return *questions* as the arguments of Claude Code's ``AskUserQuestion``."""
    return {
        "questions": [
            {
                "question": question.text,
                "header": question.header,
                "options": [
                    {"label": option.label, "description": option.description} for option in question.options
                ],
                "multiSelect": question.multi,
            }
            for question in questions
        ]
    }


_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_UNUSUAL = rf'[^\n\t -~\u00a1-\uffff\U00010000-\U0010ffff]|[&<>"]|{HIDDEN}'
_NO_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"


def _escaped(text: str) -> str:
    """Return *text* for content or an attribute. Unlike with `escape`, hidden characters can be read back."""

    def put(match: re.Match[str]) -> str:
        sign = match.group()
        if re.match(_NO_XML, sign):
            return f"⟨U+{ord(sign):04X}⟩"
        return _NAMED.get(sign) or f"&#x{ord(sign):X};"

    return re.sub(_UNUSUAL, put, text)  # compiled when first used, which few commands do
