"""Pools: which program runs the agents of a pool, and its limits. Only the user's own configuration sets them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flowrail.errors import DocumentError, UsageError

CLAUDE, CODEX = "claude", "codex"
PROGRAMS = (CLAUDE, CODEX)
_NAME = r"[a-z0-9][a-z0-9-]{0,39}\Z"


class Pool(NamedTuple):
    """A named group of workers and its limits.

    ``program`` is `claude` or `codex`, and empty if ``command`` is the whole command. ``arguments`` are added to it; without
    any, those that let an agent change files. ``slots`` is how many jobs each worker runs at the same time,
    ``most_running`` how many all of them do.

    ``minutes`` limits one run of an agent, ``attempts`` the runs in a row that fail. ``retry_seconds`` is the pause before
    the second attempt; it doubles each time. ``job_cost`` is what one run may cost: it is reserved when a run starts,
    until the real cost is known, and Claude Code stops at it. ``daily_budget`` is what the runs of the last 24 hours may
    cost; both are in dollars.

    ``quota`` is a regular expression for the message of a program that has used up its quota. ``question_minutes`` is how
    long a question about a limit or missing evidence waits for the user before its session ends as failed; by default
    it waits without end.
    """

    name: str
    program: str = ""
    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    slots: int = 1
    most_running: int | None = None
    minutes: float = 60.0
    attempts: int = 3
    retry_seconds: float = 10.0
    job_cost: float = 0.0
    daily_budget: float | None = None
    quota: str = ""
    question_minutes: float | None = None


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and word for word in value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def _is_expression(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except re.error:
        return False


_WORDS, _COUNT, _AMOUNT = (
    (_are_words, "a list of words"),
    (_is_count, "a whole number from 1"),
    (_is_amount, "a number"),
)
_KEYS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "program": (PROGRAMS.__contains__, f"one of {', '.join(PROGRAMS)}"),
    "command": _WORDS,
    "arguments": _WORDS,
    "slots": _COUNT,
    "most_running": _COUNT,
    "minutes": _AMOUNT,
    "attempts": _COUNT,
    "retry_seconds": _AMOUNT,
    "job_cost": _AMOUNT,
    "daily_budget": _AMOUNT,
    "quota": (_is_expression, "a regular expression"),
    "question_minutes": _AMOUNT,
}
"""The keys of a pool in the configuration file: a function that accepts a value, and a description of valid values."""


def check_name(name: str) -> str:
    """Return the name of a pool, or refuse it."""
    if not re.match(_NAME, name):
        raise UsageError(
            f"`{name[:40]}` is not a valid name for a pool",
            hint="use up to 40 lower-case letters, digits and `-`",
        )
    return name


def configured_pool(name: str, pools: Mapping[str, Any], *, path: str) -> Pool:
    """Return the pool called *name* from the table `pools` of the configuration file at *path*.

    The pools `claude` and `codex` exist without configuration.
    """
    check_name(name)
    if name not in pools and name not in PROGRAMS:
        raise UsageError(
            f"pool `{name}` is not configured",
            hint=f'add it to {path}: [pools.{name}] with command = ["my-agent", "…"], or program = "claude"',
            pool=name,
        )
    table = pools.get(name, {})
    if not isinstance(table, Mapping):
        raise _wrong(path, name, "is not a table")
    for key, value in table.items():
        if key not in _KEYS:
            raise _wrong(path, name, f"has an unknown key `{key}`")
        is_valid, meaning = _KEYS[key]
        if not is_valid(value):
            raise _wrong(path, name, f"has a `{key}` that is not {meaning}")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    if "command" not in values:
        values.setdefault("program", name if name in PROGRAMS else "")
    pool = Pool(name, **values)
    if bool(pool.program) == bool(pool.command):
        raise _wrong(path, name, "needs either `program` or `command`")
    return pool


def _wrong(path: str, name: str, problem: str) -> DocumentError:
    return DocumentError(
        f"pool `{name}` {problem}", hint=f"fix the file; known keys: {', '.join(_KEYS)}", place=path
    )
