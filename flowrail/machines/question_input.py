"""Read an agent's questions: a block of XML, or JSON as agents type it.

A header and options can be left out; the question then takes free text. A document type declaration is refused,
so that there are no entities but the five of XML itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

from flowrail.errors import DocumentError
from flowrail.machines.question import Option, Path, Question, problems_in
from flowrail.text import json as strict_json
from flowrail.text import size_limits
from flowrail.text.safe_text import in_quotes

MOST_NAMED = 3
"""How many problems one message names."""
MOST_DETAILED = 20
"""How many problems the details of a refusal list."""
_HINT = (
    'send JSON such as {"text": "Which cache?", "options": ["In memory", "Redis"]}, or a needs_user_input block; '
    "without options, the user answers in free text"
)
_SHOWN = 40
"""How many characters of a name from the document a message quotes."""

_NAMES = {"question": "text", "multi_select": "multi", "multiSelect": "multi"}
"""Other names of a question's keys that agents type."""
_QUESTION_KEYS = {"id": str, "header": str, "text": str, "options": list, "multi": bool}
_OPTION_KEYS = {"label": str, "description": str}
_CHILDREN = {"needs_user_input": ("question",), "question": ("text", "option")}
_KINDS = {str: "a text", list: "a list", bool: "true or false"}


class QuestionsError(DocumentError):
    """A text does not contain valid questions; ``details`` list the problems."""

    code = "BAD_QUESTIONS"

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        more = [f"and {len(problems) - MOST_NAMED} more problems"] if len(problems) > MOST_NAMED else []
        super().__init__(
            "; ".join([*problems[:MOST_NAMED], *more]),
            hint=_HINT,
            place=source,
            problems=list(problems[:MOST_DETAILED]),
            count=len(problems),
        )


def parse_questions(text: str, *, source: str) -> tuple[Question, ...]:
    """Return the questions in *text*, a ``needs_user_input`` block or JSON.

    Only white space may be around them. An ``answer`` on the block is ignored. JSON is ``{"questions": […]}``, the
    list, or one question, with the keys ``id header text options multi`` (``question`` for ``text``). An option is a
    label, or an object with the keys ``label description``.
    """
    data = text.strip().encode("utf-8", "surrogatepass")
    if len(data) > size_limits.TEXT_BYTES:
        raise QuestionsError(source, [f"more than {size_limits.TEXT_BYTES} bytes"])
    problems: list[str] = []
    if data.startswith(b"<"):
        items = _read_block(data, source, problems)
    elif data.startswith((b"{", b"[")):
        items = _read_json(text, source)
    else:
        raise QuestionsError(source, ["neither a needs_user_input block nor JSON"])
    questions = [_question(item, number, problems) for number, item in enumerate(items, 1)]
    problems = problems or [f"{_subject(path)}{message}" for path, message in problems_of_asked(questions)]
    if problems:
        raise QuestionsError(source, problems)
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
        raise ValueError("a document type is not allowed here")


def _read_block(data: bytes, source: str, problems: list[str]) -> list[object]:
    """Return the questions in a block as the same data as JSON."""
    parser = ET.XMLParser(target=_TreeBuilder(), encoding="utf-8")  # noqa: S314 - refuses document types
    try:
        parser.feed(data)
        block = parser.close()
    except ET.ParseError as error:
        raise QuestionsError(source, [f"not well-formed XML: {error}"]) from None
    except ValueError as error:
        raise QuestionsError(source, [str(error)]) from None
    if block.tag != "needs_user_input":
        raise QuestionsError(source, [f"{_quoted(block.tag)} is used instead of needs_user_input"])
    problems += [f"attribute {_quoted(name)} is not known" for name in block.attrib.keys() - {"answer"}]
    problems += _misplaced(block, "the block")
    questions = block.findall("question")
    for number, question in enumerate(questions, 1):
        place = f"question {number}"
        problems += [problem for element in (question, *question) for problem in _misplaced(element, place)]
        problems += [f"{place} has more than one text"] if len(question.findall("text")) > 1 else []
    return [_question_data(question) for question in questions]


def _misplaced(element: ET.Element, place: str) -> Iterator[str]:
    """Yield the children of *element* that are not allowed there, and text between its children."""
    tag, allowed = _quoted(element.tag), _CHILDREN.get(element.tag, ())
    for child in element:
        if child.tag not in allowed:
            yield f"{place}: element {_quoted(child.tag)} is not allowed in {tag}"
    texts = [element.text, *(child.tail for child in element)]
    if allowed and any(text and text.strip() for text in texts):
        yield f"{place}: text between the elements of {tag}"


def _question_data(question: ET.Element) -> dict[str, object]:
    options = [
        {**option.attrib, "description": (option.text or "").strip()} for option in question.findall("option")
    ]
    multi = (
        {"multi": {"true": True, "false": False}.get(question.attrib["multi"])}
        if "multi" in question.attrib
        else {}
    )
    text = (question.findtext("text") or "").strip()
    return {**question.attrib, **multi, "text": text, "options": options}


def _read_json(text: str, source: str) -> list[object]:
    try:
        value = strict_json.load(text, source=source)
    except DocumentError as error:
        raise QuestionsError(error.place, [error.fact]) from None
    if isinstance(value, dict):
        value = value["questions"] if set(value) == {"questions"} else [value]
    if not isinstance(value, list):
        raise QuestionsError(source, ["`questions` is not a list"])
    return value


def _question(value: object, number: int, problems: list[str]) -> Question:
    place = f"question {number}"
    if isinstance(value, dict):
        value = {_NAMES.get(name, name): item for name, item in value.items()}
    fields = _fitting(value, _QUESTION_KEYS, place, problems)
    options = []
    for position, option in enumerate(fields.pop("options", ()), 1):
        data = {"label": option} if isinstance(option, str) else option
        options.append(
            Option(**{"label": "", **_fitting(data, _OPTION_KEYS, f"{place}, option {position}", problems)})
        )
    return Question(**{"id": f"q{number}", "header": "", "text": "", **fields, "options": options})


def _fitting(value: object, keys: Mapping[str, type], place: str, problems: list[str]) -> dict[str, Any]:
    """Return the part of *value* that has the right kind; the rest is a problem."""
    if not isinstance(value, dict):
        problems.append(f"{place} is not an object")
        return {}
    fits: dict[str, object] = {}
    for name, item in value.items():
        if name not in keys:
            problems.append(f"{place}, key {_quoted(name)} is not known")
        elif type(item) is not keys[name]:
            problems.append(f"{place}, {name} is not {_KINDS[keys[name]]}")
        else:
            fits[name] = item
    return fits
