"""Evidence that a step demands for an outcome: what each check looks at, and how sure its result must be."""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final

from flowrail.machines.definition.parts import DefinitionPart, Frozen, Key, freeze, freeze_items

CHECK_ID = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
DEFAULT_TIMEOUT = 600.0
DEFAULT_TRIES = 3
"""After so many refusals in one attempt a person is asked."""


class Level(StrEnum):
    """How far a check was verified, from the agent's word to a person's confirmation."""

    CLAIMED = "claimed"
    OBSERVED = "observed"
    CHECKED = "checked"
    APPROVED = "approved"

    @property
    def rank(self) -> int:
        """The position of the level; a higher level satisfies a lower one."""
        return _RANKS[self]


_RANKS: Final = {level: rank for rank, level in enumerate(Level)}


class Verdict(StrEnum):
    """The result of a check. Only `pass` passes."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    ERROR = "error"
    STALE = "stale"
    EMPTY = "empty"
    NOT_RUN = "not_run"


class GitCondition(DefinitionPart):
    """The changes that the git working tree must contain since the step was entered."""

    changed_at_least: Annotated[
        int, Key("How many files must have changed, new and deleted ones included.", schema={"minimum": 0})
    ] = 1
    within: Annotated[Sequence[str], Key("Patterns such as src/**. No other file may have changed.")] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", freeze_items(self.within))


class EvidenceCheck(DefinitionPart):
    """One item of the evidence for an outcome. It has exactly one of `file`, `files`, `json`, `git`, `records`, `run`.

    Paths are relative to the project and may contain $notes, $work and facts. A pattern matches as in a shell; ** matches
    any number of folders.
    """

    id: Annotated[str, Key("A name for it: lower-case letters, digits and underscores.", is_name=True)]
    file: Annotated[str | None, Key("A file that must exist.")] = None
    files: Annotated[str | None, Key("A pattern that files must match, such as reports/*.md.")] = None
    json: Annotated[str | None, Key("A JSON file that must match `schema`.")] = None
    git: Annotated[GitCondition | None, Key("Changes that the git working tree must contain.")] = None
    records: Annotated[
        Mapping[str, str],
        Key(
            "Records that the session must contain: `review: submitted`, or `findings: resolved`.",
            schema={
                "properties": {"review": {"const": "submitted"}, "findings": {"const": "resolved"}},
                "additionalProperties": False,
            },
        ),
    ] = Frozen()
    run: Annotated[
        Sequence[str], Key("A command and its arguments, which must succeed. It is not run in a shell.")
    ] = ()
    level: Annotated[
        str | None,
        Key(
            "The lowest level that counts. By default observed for `run`, and checked for all others.",
            is_name=True,
            schema={"enum": [str(level) for level in Level]},
        ),
    ] = None
    changed: Annotated[
        bool, Key("For `file`, `files` and `json`: the content must have changed since the step was entered.")
    ] = False
    since: Annotated[
        str,
        Key(
            "For `changed` and `git`: compare with the first or with the latest time that the step was entered.",
            is_name=True,
            schema={"enum": ["first", "entry"]},
        ),
    ] = "first"
    min_bytes: Annotated[
        int, Key("For `file` and `files`: the smallest size of each file.", schema={"minimum": 1})
    ] = 1
    contains: Annotated[
        Sequence[str], Key("For `file` and `files`: texts that each file must contain; `$name` is filled.")
    ] = ()
    citations: Annotated[
        bool,
        Key(
            "For `file` and `files`: each file must cite code as FILE:LINE, and every cited line must exist."
        ),
    ] = False
    diffs: Annotated[
        bool,
        Key(
            "For `file` and `files`: each file must contain fenced `diff` blocks, and they must apply to the project."
        ),
    ] = False
    at_least: Annotated[int, Key("For `files`: how many must match.", schema={"minimum": 1})] = 1
    schema: Annotated[
        str, Key("For `json`: the file of the skill that contains the JSON Schema.", file="schema")
    ] = ""
    reads: Annotated[
        Sequence[str],
        Key(
            "For `run`: patterns of the files that the result depends on. By default, a result is valid for one revision."
        ),
    ] = ()
    timeout: Annotated[
        float,
        Key(
            "For `run`: the seconds after which `flow evidence run` stops it. By default 600.",
            schema={"exclusiveMinimum": 0},
        ),
    ] = DEFAULT_TIMEOUT
    output: Annotated[
        Sequence[str], Key("For `run`: regular expressions that its stdout or stderr must match.")
    ] = ()
    known_bad: Annotated[
        Sequence[str],
        Key(
            "For `flow test`: folders of the skill. Each is an example of a project that must not pass.",
            decides=False,
        ),
    ] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "records", freeze(self.records))
        for name in ("contains", "run", "reads", "output", "known_bad"):
            put(self, name, freeze_items(getattr(self, name)))

    @property
    def kinds(self) -> list[str]:
        """The kinds that are given: one, if the check is valid."""
        return [kind for kind in KINDS if getattr(self, kind)]

    @property
    def kind(self) -> str:
        """The kind of the check."""
        return self.kinds[0]

    @property
    def lowest_level(self) -> Level:
        """The lowest level that counts."""
        if self.level is not None:
            return Level(self.level)
        return Level.OBSERVED if self.run else Level.CHECKED


KINDS = ("file", "files", "json", "git", "records", "run")
CONDITIONS: Mapping[str, frozenset[str]] = Frozen(
    {
        "file": frozenset({"changed", "since", "min_bytes", "contains", "citations", "diffs"}),
        "files": frozenset({"changed", "since", "min_bytes", "contains", "citations", "diffs", "at_least"}),
        "json": frozenset({"changed", "since", "schema"}),
        "git": frozenset({"since"}),
        "records": frozenset(),
        "run": frozenset({"reads", "timeout", "output"}),
    }
)
"""The conditions that fit each kind."""
