"""Questions to the user: what one holds, and how much of it.

The bounds are those of hosts' question tools, so that a question can be put to the user as it is. A
question that breaks them is kept as it was written, for `problems_in` to name everything at once.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

from flowrail.machines.definition.frozen import freeze_items
from flowrail.machines.definition.keys import DefinitionPart, Key
from flowrail.text.safe_text import visible

MOST_QUESTIONS = 3
FEWEST_OPTIONS, MOST_OPTIONS = 2, 3
LONGEST_HEADER = 12
LONGEST_LABEL = 60
LONGEST_DESCRIPTION = 500
LONGEST_TEXT = 2_000
LATEST_DEADLINE = 30 * 24 * 3600
OWN_WORDS = "other:"
"""Before an answer in the user's own words; no label begins so."""

QUESTION_ID = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"

Path = tuple[str | int, ...]


OUTCOME = {"enum": ["ok", "fail", "skip", "iterate"]}
"""The JSON Schema of an outcome that a step can have."""


class Option(DefinitionPart):
    """One answer to choose from. In a step's question it may decide the outcome."""

    label: Annotated[str, Key("The answer, in a few words.", rank=1)]
    description: Annotated[str, Key("What the answer means.", decides=False)] = ""
    outcome: Annotated[
        str | None,
        Key("The outcome that follows. Must be in `next` of the step.", is_name=True, rank=2, schema=OUTCOME),
    ] = None

    def __post_init__(self) -> None:
        _trim(self, "label", "description")


class Question(DefinitionPart):
    """A question to the user. A step's questions open when the step is entered.

    ``other`` is the outcome of an answer in other words. After ``deadline`` seconds the ``default``, one of the
    labels, is the answer. White space around the texts is removed.
    """

    id: Annotated[
        str, Key("A name for it: lower-case letters, digits and underscores.", is_name=True, rank=1)
    ]
    header: Annotated[str, Key("At most 12 characters.", decides=False)]
    text: Annotated[str, Key("The question, as the user reads it.", decides=False)]
    options: Annotated[Sequence[Option], Key("Two or three.", rank=3, required=True)] = ()
    multi_select: Annotated[
        bool, Key("Whether several options may be chosen.", name="multi", decides=False)
    ] = False
    default: Annotated[str | None, Key("The label of the answer after the deadline.", decides=False)] = None
    deadline: Annotated[
        float | None, Key("After how many seconds the default is the answer.", decides=False)
    ] = None
    other: Annotated[
        str | None, Key("The outcome of an answer in other words.", is_name=True, rank=2, schema=OUTCOME)
    ] = None

    def __post_init__(self) -> None:
        _trim(self, "header", "text")
        object.__setattr__(self, "options", freeze_items(self.options))


class QuestionProblem(NamedTuple):
    """What is wrong, and where: such as ``(0, "options", 1, "label")``, counted from 0."""

    path: Path
    message: str


def problems_in(questions: Sequence[Question]) -> list[QuestionProblem]:
    """Return everything that keeps *questions* from being asked together."""
    found = [] if questions else [QuestionProblem((), "there is no question")]
    if len(questions) > MOST_QUESTIONS:
        found.append(QuestionProblem((), f"there are {len(questions)} questions; at most {MOST_QUESTIONS}"))
    for index, question in enumerate(questions):
        found += [QuestionProblem((index, *path), message) for path, message in _problems(question)]
    found += _twice(((index, "id"), question.id, "the id") for index, question in enumerate(questions))
    found += _twice(((index, "text"), question.text, "the text") for index, question in enumerate(questions))
    return found


def _problems(question: Question) -> Iterator[tuple[Path, str]]:
    if not QUESTION_ID.match(question.id):
        what = "no id" if question.id else "missing"
        yield ("id",), f"is {what}: a lower-case letter, then up to 31 of a-z, 0-9 and _"
    yield from _line(("header",), question.header, LONGEST_HEADER)
    yield from _text(("text",), question.text, LONGEST_TEXT)
    count = len(question.options)
    if not FEWEST_OPTIONS <= count <= MOST_OPTIONS:
        yield ("options",), f"are {count}; {FEWEST_OPTIONS} or {MOST_OPTIONS} are to choose from"
    for index, option in enumerate(question.options):
        at: Path = ("options", index)
        yield from _line((*at, "label"), option.label, LONGEST_LABEL)
        if option.label.casefold().startswith(OWN_WORDS):
            yield (*at, "label"), f"begins with `{OWN_WORDS}`, which stands before the user's own words"
        if option.description:
            yield from _text((*at, "description"), option.description, LONGEST_DESCRIPTION)
    yield from _twice(
        (("options", index, "label"), visible(option.label).casefold(), "the label")
        for index, option in enumerate(question.options)
    )
    yield from _default(question)


def _default(question: Question) -> Iterator[tuple[Path, str]]:
    if question.default is not None and question.default not in {each.label for each in question.options}:
        yield ("default",), "is not the label of an option"
    if question.deadline is None:
        return
    if not 0 < question.deadline <= LATEST_DEADLINE:
        yield ("deadline",), f"is not from 1 to {LATEST_DEADLINE} seconds"
    if question.default is None:
        yield ("deadline",), "needs a default, which stands when it has passed"


def _line(path: Path, text: str, longest: int) -> Iterator[tuple[Path, str]]:
    yield from _text(path, text, longest)
    if "\n" in text or "\t" in text:
        yield path, "is not one line"


def _text(path: Path, text: str, longest: int) -> Iterator[tuple[Path, str]]:
    if not text:
        yield path, "is missing"
    if len(text) > longest:
        yield path, f"has {len(text)} characters; at most {longest}"
    control = re.search(_CONTROL, text)
    if control:
        yield path, f"holds U+{ord(control.group()):04X}, a character that cannot be shown"


def _twice(values: Iterable[tuple[Path, str, str]]) -> Iterator[QuestionProblem]:
    seen: set[str] = set()
    for path, value, what in values:
        if value and value in seen:
            yield QuestionProblem(path, f"is {what} of one before it, too")
        seen.add(value)


def _trim(part: Option | Question, *names: str) -> None:
    for name in names:
        text = getattr(part, name)
        if isinstance(text, str):
            object.__setattr__(part, name, text.replace("\r\n", "\n").strip())
