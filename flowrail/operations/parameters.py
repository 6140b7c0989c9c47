"""Parameters that several operations share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from flowrail.machines.frozen import Frozen
from flowrail.operations.operation import Help

Skill = Annotated[str, Help("The skill, such as problem-analysis.")]
OptionalSkill = Annotated[str | None, Help("The skill, such as problem-analysis.")]
SkillsOrPaths = Annotated[
    tuple[str, ...],
    Help("Skills, folders or workflow files.", metavar="SKILL|PATH"),
]
SessionId = Annotated[str, Help("The id of a session.", metavar="ID")]
OptionalSession = Annotated[
    str | None,
    Help("The session, by default this conversation's open one.", metavar="ID"),
]
Params = Annotated[
    Mapping[str, str],
    Help("A workflow parameter. May be repeated.", short="-p", metavar="NAME=VALUE"),
]
Facts = Annotated[
    Mapping[str, object],
    Help(
        "A fact, such as confidence=high. May be repeated.",
        short="-s",
        metavar="NAME=VALUE",
        file_option="--facts",
    ),
]
NO_VALUES: Mapping[str, Any] = Frozen()
"""The default of parameters and facts."""
Notes = Annotated[
    tuple[str, ...],
    Help(
        "What to remember, in a sentence. Shown when the session is resumed. May be repeated.",
        metavar="TEXT",
    ),
]
Expect = Annotated[
    int | None,
    Help(
        "The revision that the report is for. At another revision, the report is refused.",
        metavar="REV",
        least=0,
    ),
]
TakeOver = Annotated[bool, Help("Continue a session that belongs to another conversation.")]
Reason = Annotated[str, Help("The reason, for the journal.", metavar="TEXT")]
DryRun = Annotated[bool, Help("Show what would be done, without doing it.")]


def joined_notes(notes: Sequence[str]) -> str:
    """Return the values of a repeated `--note` as one text."""
    return "; ".join(text.strip() for text in notes)
