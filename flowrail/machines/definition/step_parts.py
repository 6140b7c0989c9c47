"""The parts of a step besides its transitions: dispatches to sub-agents, review gates and questions to the user."""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from flowrail.machines.definition.parts import (
    DefinitionPart,
    Frozen,
    Key,
    Scalar,
    Value,
    freeze,
    freeze_items,
)
from flowrail.text.safe_text import visible

LEASE_SECONDS = 3_600
"""How long a dispatch stays reserved without a sign of life, unless its step sets `lease`."""
LONGEST_LEASE = 7 * 24 * 3_600
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


class Dispatch(DefinitionPart):
    """Work for sub-agents: one dispatch for each item of ``over``, or a single one without ``over``.

    As ``dispatch`` of a step or in place of its handler. ``script`` is the address of a workflow that the agent runs,
    or a Python module to run. Without it, or with ``free_form``, the agent works from ``prompt``, and without
    that from the step's text.
    """

    agent: Annotated[
        str,
        Key(
            "`explore`, `general-purpose`, `developer`, `quality-reviewer`, `technical-writer`, or an agent of the host.",
            is_name=True,
            decides=False,
            schema={"examples": [str(role) for role in AgentRole]},
        ),
    ]
    script: Annotated[
        str | None,
        Key("The workflow that the agent runs, such as planner/explore.", is_name=True, name="run", rank=1),
    ] = None
    over: Annotated[
        str | Sequence[Scalar] | None, Key("A list, or the name of a fact that is one.", is_name=True, rank=2)
    ] = None
    context_vars: Annotated[
        Mapping[str, Value],
        Key(
            "The parameters of `run`. $item is the item; a placeholder alone keeps its type.",
            name="vars",
            rank=3,
        ),
    ] = Frozen()
    join: Annotated[
        str, Key("How many dispatches must succeed: all, any, or at least N.", is_name=True, rank=4)
    ] = "all"
    model: Annotated[str | None, Key("The model to use, such as sonnet.", is_name=True, decides=False)] = None
    prompt: Annotated[
        Sequence[str],
        Key(
            "Without `run`: the file with the agent's instructions. By default, the step's own text.",
            file="prompt",
            decides=False,
        ),
    ] = ()
    lease: Annotated[
        float,
        Key(
            "The seconds without a sign of life after which another agent can claim it. By default 3600.",
            decides=False,
            schema={"minimum": 1, "maximum": LONGEST_LEASE},
            code="FR153",
        ),
    ] = LEASE_SECONDS
    free_form: Annotated[
        bool, Key("Whether the agent works from the step's text alone.", decides=False, in_file=False)
    ] = False
    total_steps: Annotated[
        int | None, Key("How many steps the workflow has; checked if given.", decides=False, in_file=False)
    ] = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if isinstance(self.over, list):
            put(self, "over", tuple(self.over))
        put(self, "context_vars", freeze(self.context_vars))
        if isinstance(self.agent, AgentRole):
            put(self, "agent", self.agent.value)
        put(self, "script", self.script or None)
        put(self, "prompt", freeze_items(self.prompt))

    @property
    def run(self) -> str | None:
        """The address of the workflow that the agent runs; `None` if it works from a prompt."""
        return self.script if self.script and not self.free_form and "." not in self.script else None


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
        "1-3 / 4 / 5+": (_ALL, _ALL, _ALL, _MOST, _LEAST),
        "1-2 / 3 / 4+": (_ALL, _ALL, _MOST, _LEAST),
        "none / 1-4 / 5+": (_MOST, _MOST, _MOST, _MOST, _LEAST),
    }
)
"""For each policy, the severities that block in each round; later rounds are judged as the last one."""
DEFAULT_POLICY = "1-2 / 3-4 / 5+"


def blocking_severities(iteration: int, policy: str = DEFAULT_POLICY) -> frozenset[Severity]:
    """Return the severities that still block in round *iteration*, counted from 1, under a named policy."""
    if iteration < 1:
        raise ValueError(f"rounds count from 1, not {iteration}")
    rounds = POLICIES[policy]
    return rounds[min(iteration, len(rounds)) - 1]


class GateConfig(DefinitionPart):
    """A review gate: its outcome follows from the findings that its review recorded.

    A step's ``gate`` needs ``review``; ``limit`` and ``policy`` set the number of rounds and the severities that
    block. The other fields are for scripts that print their own steps with the formatters: the number of the step
    that does the work, the step after a passed review, and the agent that fixes the findings.
    """

    qr_name: Annotated[
        str, Key("The purpose of the review, in a few words.", name="name", decides=False, required=True)
    ]
    work_step: int = 0
    pass_step: int | None = None
    pass_message: str = ""
    self_fix: bool = False
    fix_target: AgentRole | None = None
    review: Annotated[str, Key("The step that reviews.", is_name=True, rank=1, required=True)] = ""
    limit: Annotated[
        int, Key("After how many rounds the user is asked.", rank=2, schema={"minimum": 1}, code="FR150")
    ] = 5
    policy: Annotated[
        str | None,
        Key(
            "In which rounds all, MUST and SHOULD, or MUST findings block; default `1-2 / 3-4 / 5+`.",
            is_name=True,
            rank=3,
            schema={"enum": list(POLICIES)},
            code="FR150",
        ),
    ] = None
    later_rounds: Annotated[
        str,
        Key(
            "The scope of later rounds: `everything`, or only the `changes` and all text that refers to them.",
            is_name=True,
            rank=4,
            schema={"enum": ["everything", "changes"]},
            code="FR150",
        ),
    ] = "everything"


MOST_QUESTIONS = 3
FEWEST_OPTIONS, MOST_OPTIONS = 2, 3
LONGEST_HEADER = 12
LONGEST_LABEL = 60
LONGEST_DESCRIPTION = 500
LONGEST_TEXT = 2_000
LATEST_DEADLINE = 30 * 24 * 3600
OWN_WORDS = "other:"
"""The prefix of an answer in the user's own words. No label may begin with it."""

QUESTION_ID = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"

Path = tuple[str | int, ...]
QuestionProblem = tuple[Path, str]
"""The path of a problem, such as ``(0, "options", 1, "label")`` with positions from 0, and its description."""


OUTCOME = {"enum": ["ok", "fail", "skip", "iterate"]}
"""The JSON Schema of an outcome that a step can have."""


class Option(DefinitionPart):
    """One answer to choose from. It can decide the outcome of the step."""

    label: Annotated[str, Key("The answer, in a few words.", rank=1)]
    description: Annotated[str, Key("The meaning of the answer.", decides=False)] = ""
    outcome: Annotated[
        str | None,
        Key(
            "The outcome that follows. Must be in `next` of the step.",
            is_name=True,
            rank=2,
            schema=OUTCOME,
            code="FR147",
        ),
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
    header: Annotated[str, Key("A short heading, at most 12 characters.", decides=False)]
    text: Annotated[str, Key("The question, as the user reads it.", decides=False)]
    options: Annotated[Sequence[Option], Key("The answers: two or three.", rank=3, required=True)] = ()
    multi_select: Annotated[
        bool, Key("Whether several options may be chosen.", name="multi", decides=False)
    ] = False
    default: Annotated[str | None, Key("The label of the answer at the deadline.", decides=False)] = None
    deadline: Annotated[float | None, Key("Seconds until `default` becomes the answer.", decides=False)] = (
        None
    )
    other: Annotated[
        str | None,
        Key(
            "The outcome if the user answers in own words.",
            is_name=True,
            rank=2,
            schema=OUTCOME,
            code="FR147",
        ),
    ] = None

    def __post_init__(self) -> None:
        _trim(self, "header", "text")
        object.__setattr__(self, "options", freeze_items(self.options))


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
    if question.default is not None and question.default not in {option.label for option in question.options}:
        yield ("default",), "is not the label of an option"
    if question.deadline is not None and not 0 < question.deadline <= LATEST_DEADLINE:
        yield ("deadline",), f"is not from 1 to {LATEST_DEADLINE} seconds"
    if question.deadline is not None and question.default is None:
        yield ("deadline",), "needs a default, which becomes the answer when the deadline has passed"


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


def _trim(part: Option | Question, *names: str) -> None:
    for name in names:
        text = getattr(part, name)
        if isinstance(text, str):
            object.__setattr__(part, name, text.replace("\r\n", "\n").strip())
