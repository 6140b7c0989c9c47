"""The parts of a step besides its transitions: dispatches to sub-agents, review gates and questions to the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from annotated_types import Ge

from flowrail.machines.definition.parts import (
    CONFIG,
    TEXT,
    Frozen,
    NotInFiles,
    Scalar,
    Value,
    freeze,
    freeze_deep,
    freeze_items,
    put,
)
from flowrail.text.safe_text import visible

MOST_DISPATCHES = 200
"""The largest number of dispatches of one step."""
_JOIN = r"(?:all|any|at least (?P<least>[1-9][0-9]{0,2}))\Z"


class AgentRole(StrEnum):
    """Roles that every host knows. A dispatch may also name another agent of the host."""

    EXPLORE = "explore"
    GENERAL_PURPOSE = "general-purpose"
    DEVELOPER = "developer"
    QUALITY_REVIEWER = "quality-reviewer"
    TECHNICAL_WRITER = "technical-writer"


@dataclass(frozen=True)
class Dispatch:
    """Work for sub-agents: one dispatch for each item of ``over``, or a single one without ``over``.

    As ``dispatch`` of a step or in place of its handler. Without a ``workflow`` or a ``script``, the agent works
    from ``prompt``, and without that from the step's text.
    """

    __pydantic_config__ = CONFIG

    agent: str = field(metadata={**TEXT, "examples": [str(role) for role in AgentRole]})
    """`explore`, `general-purpose`, `developer`, `quality-reviewer`, `technical-writer`, or an agent of the host."""
    workflow: str | None = None
    """The workflow that the agent runs, such as planner/explore."""
    over: str | Sequence[Scalar] | None = None
    """A list, or the name of a fact that is one."""
    vars: Mapping[str, Value] = Frozen()
    """The parameters of `workflow`. $item is the item; a placeholder alone keeps its type."""
    join: str = "all"
    """How many dispatches must succeed: all, any, or at least N."""
    model: str | None = field(default=None, metadata=TEXT)
    """The model to use, such as sonnet."""
    prompt: str | Sequence[str] = field(default=(), metadata=TEXT)
    """Without `workflow`: the agent's instructions, or the .md file with them. By default, the step's own text."""
    script: Annotated[str | None, NotInFiles()] = None
    """The workflow that the agent runs, or a Python module to run."""
    total_steps: Annotated[int | None, NotInFiles()] = field(default=None, metadata=TEXT)
    """How many steps the workflow has; checked if given."""

    def __post_init__(self) -> None:
        is_module = isinstance(self.script, str) and "." in self.script
        put(
            self,
            agent=self.agent.value if isinstance(self.agent, AgentRole) else self.agent,
            workflow=self.workflow or (None if is_module else self.script) or None,
            script=self.script if is_module else None,
            over=tuple(self.over) if isinstance(self.over, list) else self.over,
            vars=freeze_deep(freeze(self.vars)),
            prompt=freeze_items(self.prompt),
        )


def needed_by(join: str, total: int) -> int:
    """Return how many of *total* dispatches must succeed; `ValueError` if *join* is not a join."""
    match = re.match(_JOIN, join)
    if match is None:
        raise ValueError(f"invalid join `{join}`: write all, any or at least N")
    if join == "all":
        return total
    return int(match.group("least") or 1)


class Severity(StrEnum):
    """How much a finding matters: MUST is wrong, SHOULD is worse than it need be, COULD is taste."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    COULD = "COULD"


_ALL, _MOST = frozenset(Severity), frozenset({Severity.MUST, Severity.SHOULD})
_LEAST = frozenset({Severity.MUST})
POLICIES: Mapping[str, Sequence[frozenset[Severity]]] = Frozen(
    {
        "1-2 / 3-4 / 5+": (_ALL, _ALL, _MOST, _MOST, _LEAST),
        "none / 1-4 / 5+": (_MOST, _MOST, _MOST, _MOST, _LEAST),
    }
)
"""For each policy, the severities that block in each round; later rounds are judged as the last one."""
Policy: TypeAlias = Literal["1-2 / 3-4 / 5+", "none / 1-4 / 5+"]
DEFAULT_POLICY = "1-2 / 3-4 / 5+"


def blocking_severities(iteration: int, policy: str = DEFAULT_POLICY) -> frozenset[Severity]:
    """Return the severities that still block in round *iteration*, counted from 1, under a named policy."""
    if iteration < 1:
        raise ValueError(f"rounds count from 1, not {iteration}")
    rounds = POLICIES[policy]
    return rounds[min(iteration, len(rounds)) - 1]


@dataclass(frozen=True)
class GateConfig:
    """A review gate: its outcome follows from the findings that its review recorded.

    A step's ``gate`` needs ``review``; ``limit`` and ``policy`` set the number of rounds and the severities that
    block. The other fields are for scripts that print their own steps with the formatters: the number of the step
    that does the work, the step after a passed review, and the agent that fixes the findings.
    """

    __pydantic_config__ = CONFIG

    name: str = field(default="", metadata=TEXT)
    """The purpose of the review, in a few words."""
    work_step: Annotated[int, NotInFiles()] = field(default=0, metadata=TEXT)
    """The number of the step that does the work."""
    pass_step: Annotated[int | None, NotInFiles()] = field(default=None, metadata=TEXT)
    """The number of the step after a passed review."""
    pass_message: Annotated[str, NotInFiles()] = field(default="", metadata=TEXT)
    """The text after a passed review."""
    self_fix: Annotated[bool, NotInFiles()] = field(default=False, metadata=TEXT)
    """Whether the same agent fixes the findings."""
    fix_target: Annotated[AgentRole | None, NotInFiles()] = field(default=None, metadata=TEXT)
    """The agent that fixes the findings."""
    qr_name: Annotated[str, NotInFiles()] = field(default="", metadata=TEXT)
    """The name, as scripts give it."""
    review: str = ""
    """The step that reviews."""
    limit: Annotated[int, Ge(1)] = 5
    """After how many rounds the user is asked."""
    policy: Policy | None = None
    """In which rounds all, MUST and SHOULD, or MUST findings block; default `1-2 / 3-4 / 5+`."""

    def __post_init__(self) -> None:
        put(self, name=self.name or self.qr_name, qr_name="")


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


Reportable: TypeAlias = Literal["ok", "fail", "skip", "iterate"]
"""An outcome that a step can have."""


@dataclass(frozen=True)
class Option:
    """One answer to choose from. It can decide the outcome of the step."""

    __pydantic_config__ = CONFIG

    label: str
    """The answer, in a few words."""
    description: str = field(default="", metadata=TEXT)
    """The meaning of the answer."""
    outcome: Reportable | str | None = None
    """The outcome that follows. Must be in `next` of the step."""

    def __post_init__(self) -> None:
        put(self, label=_trimmed(self.label), description=_trimmed(self.description))


@dataclass(frozen=True)
class Question:
    """A question to the user. A step's questions open when the step is entered.

    ``other`` is the outcome of an answer in other words. White space around the texts is removed.
    """

    __pydantic_config__ = CONFIG

    id: str
    """A name for it: lower-case letters, digits and underscores."""
    header: str = field(metadata=TEXT)
    """A short heading, at most 12 characters."""
    text: str = field(metadata=TEXT)
    """The question, as the user reads it."""
    options: Sequence[Option] = ()
    """The answers: two or three."""
    multi: bool = field(default=False, metadata=TEXT)
    """Whether several options may be chosen."""
    other: Reportable | str | None = None
    """The outcome if the user answers in own words."""

    def __post_init__(self) -> None:
        put(self, header=_trimmed(self.header), text=_trimmed(self.text), options=freeze_items(self.options))


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
