"""Questions to the user: their form, and what prevents asking them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from flowrail.machines.frozen import FILLED, TEXT, Definition, NotInFiles, put
from flowrail.outcome import Reportable
from flowrail.text.safe_text import visible

MOST_QUESTIONS = 3
FEWEST_OPTIONS, MOST_OPTIONS = 2, 3
LONGEST_HEADER = 12
LONGEST_LABEL = 60
LONGEST_DESCRIPTION = 500
LONGEST_TEXT = 2_000
OWN_WORDS = "other:"
"""The prefix of an answer in the user's own words. No label may begin with it."""

QUESTION_ID = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"

Path = tuple[str | int, ...]
QuestionProblem = tuple[Path, str]
"""The path of a problem, such as ``(0, "options", 1, "label")`` with positions from 0, and its description."""


@dataclass(frozen=True)
class Option(Definition):
    """One answer to choose from. It can decide the outcome of the step."""

    label: str
    """The answer, in a few words."""
    description: str = field(default="", metadata={**TEXT, **FILLED})
    """The meaning of the answer."""
    outcome: Reportable | str | None = None
    """The outcome that follows. Must be in `next` of the step."""
    person: Annotated[bool, NotInFiles()] = False
    """Whether only a person may choose it."""

    def __post_init__(self) -> None:
        put(self, label=_trimmed(self.label), description=_trimmed(self.description))


@dataclass(frozen=True)
class Question(Definition):
    """A question to the user. A step's questions open when the step is entered.

    ``other`` is the outcome of an answer in the user's own words. White space around the texts is removed.
    """

    id: str
    """A name for it: lower-case letters, digits and underscores."""
    header: str = field(metadata=TEXT)
    """A short heading, at most 12 characters."""
    text: str = field(metadata={**TEXT, **FILLED})
    """The question, as the user reads it."""
    options: Sequence[Option] = ()
    """The answers: two or three."""
    multi: bool = field(default=False, metadata=TEXT)
    """Whether several options may be chosen."""
    other: Reportable | str | None = None
    """The outcome if the user answers in own words."""
    person: bool = False
    """Whether only a person may answer: at a terminal, on the `flow ui` page, or in the host's question tool."""

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, header=_trimmed(self.header), text=_trimmed(self.text))


def problems_in(questions: Sequence[Question]) -> list[QuestionProblem]:
    """Return every problem that prevents asking *questions* together."""
    problems: list[QuestionProblem] = [] if questions else [((), "a question is missing")]
    if len(questions) > MOST_QUESTIONS:
        problems.append(((), f"there are {len(questions)} questions; at most {MOST_QUESTIONS}"))
    for index, question in enumerate(questions):
        problems += [((index, *path), message) for path, message in _problems(question)]
    problems += _twice(((index, "id"), question.id, "the id") for index, question in enumerate(questions))
    problems += _twice(
        ((index, "text"), question.text, "the text") for index, question in enumerate(questions)
    )
    return problems


def _problems(question: Question) -> Iterator[tuple[Path, str]]:
    if not QUESTION_ID.match(question.id):
        problem = "is not valid" if question.id else "is missing"
        yield ("id",), f"{problem}: use a lower-case letter, then up to 31 of a-z, 0-9 and _"
    yield from _text_problems(("header",), question.header, LONGEST_HEADER, is_line=True)
    yield from _text_problems(("text",), question.text, LONGEST_TEXT)
    count = len(question.options)
    if not FEWEST_OPTIONS <= count <= MOST_OPTIONS:
        yield ("options",), f"are {count}; there must be {FEWEST_OPTIONS} or {MOST_OPTIONS}"
    for index, option in enumerate(question.options):
        path: Path = ("options", index, "label")
        yield from _text_problems(path, option.label, LONGEST_LABEL, is_line=True)
        if option.label.casefold().startswith(OWN_WORDS):
            yield path, f"begins with `{OWN_WORDS}`, which marks an answer in the user's own words"
        if option.description:
            path = ("options", index, "description")
            yield from _text_problems(path, option.description, LONGEST_DESCRIPTION)
    yield from _twice(
        (("options", index, "label"), visible(option.label).casefold(), "the label")
        for index, option in enumerate(question.options)
    )


def _text_problems(
    path: Path, text: str, longest: int, *, is_line: bool = False
) -> Iterator[tuple[Path, str]]:
    if not text:
        yield path, "is missing"
    if len(text) > longest:
        yield path, f"has {len(text)} characters; at most {longest}"
    control = re.search(_CONTROL, text)
    if control:
        yield path, f"contains U+{ord(control.group()):04X}, which cannot be shown"
    if is_line and ("\n" in text or "\t" in text):
        yield path, "is not one line"


def _twice(values: Iterable[tuple[Path, str, str]]) -> Iterator[QuestionProblem]:
    seen: set[str] = set()
    for path, value, label in values:
        if value and value in seen:
            yield path, f"is {label} of an earlier one too"
        seen.add(value)


def _trimmed(text: str) -> str:
    return text.replace("\r\n", "\n").strip() if isinstance(text, str) else text
