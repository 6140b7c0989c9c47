"""Read an agent's questions: a block of XML, or JSON as agents type it.

A header and options can be left out; the question then takes free text. A document type declaration is refused,
so that there are no entities but the five of XML itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree as ET

from flowrail.errors import DocumentError
from flowrail.machines.frozen import STRICT, Definition
from flowrail.machines.question import Option, Path, Question, problems_in
from flowrail.text import json as strict_json
from flowrail.text import size_limits
from flowrail.text.safe_text import in_quotes
from flowrail.text.validation import in_words

_HINT = (
    'send JSON such as {"text": "Which cache?", "options": ["In memory", "Redis"]}, or a needs_user_input block; '
    "without options, the user answers in free text"
)
_SHOWN = 40
"""How many characters of a name from the document a message quotes."""

_NAMES = {"question": "text", "multi_select": "multi", "multiSelect": "multi"}
"""Other names of a question's keys that agents type."""


@dataclass(frozen=True)
class TypedOption(Definition):
    """An option as an agent types it."""

    label: str = ""
    description: str = ""


@dataclass(frozen=True)
class TypedQuestion(Definition):
    """A question as an agent types it. Everything can be left out."""

    __pydantic_config__ = STRICT

    id: str = ""
    header: str = ""
    text: str = ""
    options: Sequence[TypedOption] = ()
    multi: bool = False


class QuestionsError(DocumentError):
    """A text does not contain valid questions."""

    code = "BAD_QUESTIONS"

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(problem, hint=_HINT, place=source)


class _InvalidError(ValueError):
    """What is wrong with a text."""


def parse_questions(text: str, *, source: str) -> tuple[Question, ...]:
    """Return the questions in *text*, a ``needs_user_input`` block or JSON.

    Only white space may be around them. An ``answer`` on the block is ignored. JSON is ``{"questions": […]}``, the
    list, or one question, with the keys ``id header text options multi`` (``question`` for ``text``). An option is a
    label, or an object with the keys ``label description``.
    """
    data = text.strip().encode("utf-8", "surrogatepass")
    if len(data) > size_limits.TEXT_BYTES:
        raise QuestionsError(source, f"more than {size_limits.TEXT_BYTES} bytes")
    try:
        items = _read_block(data) if data.startswith(b"<") else _read_json(text, source)
        questions = [*_questions(items)]
    except ET.ParseError as error:
        raise QuestionsError(source, f"not well-formed XML: {error}") from None
    except _InvalidError as error:
        raise QuestionsError(source, str(error)) from None
    for path, message in problems_of_asked(questions):
        raise QuestionsError(source, f"{_subject(path)}{message}")
    return tuple(questions)


def problems_of_asked(questions: Sequence[Question]) -> list[tuple[Path, str]]:
    """Return every problem of questions that an agent asks. Unlike a step's, they need no header and no options."""
    left_out = {
        (number, part)
        for number, question in enumerate(questions)
        for part in ("header", "options")
        if not getattr(question, part)
    }
    return [problem for problem in problems_in(questions) if problem[0] not in left_out]


def _subject(path: Path) -> str:
    """Return a path in words, for the beginning of a message."""
    words: list[str] = []
    for before, part in pairwise(("question", *path)):
        if isinstance(part, str):
            words.append(part)
        else:
            words[-1:] = [f"{'option' if before == 'options' else before} {part + 1}"]
    return f"{', '.join(words)} " if words else ""


def _quoted(name: str) -> str:
    """Return a name from the document as a message may show it."""
    return f"`{in_quotes(name[:_SHOWN] if name.isprintable() else ascii(name[:_SHOWN]))}`"


class _TreeBuilder(ET.TreeBuilder):
    def doctype(self, *_: str | None) -> None:
        """Refuse a document type before its entities are read."""
        raise _InvalidError("a document type is not allowed here")


def _read_block(data: bytes) -> list[object]:
    """Return the questions in a block as the same data as JSON."""
    parser = ET.XMLParser(target=_TreeBuilder(), encoding="utf-8")  # noqa: S314 - refuses document types
    parser.feed(data)
    block = parser.close()
    if block.tag != "needs_user_input":
        raise _InvalidError(f"{_quoted(block.tag)} is used instead of needs_user_input")
    return [_question_data(question) for question in block]


def _question_data(question: ET.Element) -> dict[str, object]:
    for element in (question, *question):
        allowed = {"question"} if element is question else {"text", "option"}
        if element.tag not in allowed or (element is not question and len(element)):
            raise _InvalidError(f"element {_quoted(element.tag)} is not allowed here, or contains others")
    options = [
        {**option.attrib, "description": (option.text or "").strip()} for option in question.findall("option")
    ]
    given: dict[str, object] = {**question.attrib}
    if "multi" in given:
        given["multi"] = {"true": True, "false": False}.get(question.attrib["multi"])
    return {**given, "text": (question.findtext("text") or "").strip(), "options": options}


def _read_json(text: str, source: str) -> list[object]:
    if not text.lstrip().startswith(("{", "[")):
        raise _InvalidError("neither a needs_user_input block nor JSON")
    try:
        value = strict_json.load(text, source=source)
    except DocumentError as error:
        raise _InvalidError(error.fact) from None
    if isinstance(value, dict):
        value = value["questions"] if set(value) == {"questions"} else [value]
    if not isinstance(value, list):
        raise _InvalidError("`questions` is not a list")
    return value


def _questions(items: list[object]) -> Iterator[Question]:
    from pydantic import TypeAdapter, ValidationError  # takes as long as a step

    try:
        typed = TypeAdapter(list[TypedQuestion]).validate_json(json.dumps([*map(_with_our_names, items)]))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        path = [_quoted(part) if isinstance(part, str) else part for part in problem["loc"]]
        raise _InvalidError(f"{_subject(tuple(path))}{in_words(problem)}") from None
    for number, question in enumerate(typed, 1):
        options = [Option(option.label, option.description) for option in question.options]
        yield Question(question.id or f"q{number}", question.header, question.text, options, question.multi)


def _with_our_names(item: object) -> object:
    """Return a question with our names of its keys, and an option that is a text as an object."""
    if not isinstance(item, dict):
        return item
    question = {_NAMES.get(name, name): value for name, value in item.items()}
    if isinstance(question.get("options"), list):
        options = question["options"]
        question["options"] = [{"label": option} if isinstance(option, str) else option for option in options]
    return question
