"""Pools: which program runs the agents of a pool, and its limits. Only the user's own configuration sets them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.errors import DocumentError, UsageError

CLAUDE, CODEX = "claude", "codex"
PROGRAMS = (CLAUDE, CODEX)
_NAME = r"[a-z0-9][a-z0-9-]{0,39}\Z"
_MOST = 1_000_000


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


_NUMBERS: Mapping[str, type] = {
    "slots": int,
    "most_running": int,
    "minutes": float,
    "attempts": int,
    "retry_seconds": float,
    "job_cost": float,
    "daily_budget": float,
    "question_minutes": float,
}


def check_name(name: str) -> str:
    """Return the name of a pool, or refuse it."""
    if not re.match(_NAME, name):
        raise UsageError(
            f"`{name[:40]}` is not a valid name for a pool",
            hint="use up to 40 lower-case letters, digits and `-`",
        )
    return name


def configured_pool(name: str, pools: Mapping[str, Any], *, place: str) -> Pool:
    """Return the pool called *name* from the table `pools` of the configuration file at *place*.

    The pools `claude` and `codex` exist without configuration.
    """
    check_name(name)
    if name not in pools and name not in PROGRAMS:
        raise UsageError(
            f"pool `{name}` is not configured",
            hint=f'add it to {place}: [pools.{name}] with command = ["my-agent", "…"], or program = "claude"',
            pool=name,
        )
    table = pools.get(name, {})
    if not isinstance(table, Mapping):
        raise _wrong(place, name, "is not a table")
    unknown = sorted(table.keys() - set(Pool._fields[1:]))
    if unknown:
        raise _wrong(place, name, f"has an unknown key `{unknown[0]}`")
    values = {key: _value(place, name, key, value) for key, value in table.items()}
    if "command" not in values:
        values.setdefault("program", name if name in PROGRAMS else "")
    pool = Pool(name, **values)
    if bool(pool.program) == bool(pool.command):
        raise _wrong(place, name, "needs either `program` or `command`")
    return pool


def _value(place: str, name: str, key: str, value: object) -> Any:
    if key in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
            raise _wrong(place, name, f"has a `{key}` that is not a number from 0 to {_MOST}")
        number = _NUMBERS[key](value)
        if not number and key in {"slots", "attempts", "minutes"}:
            raise _wrong(place, name, f"has no `{key}`")
        return number
    if key in {"command", "arguments"}:
        if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
            raise _wrong(place, name, f"has a `{key}` that is not a list of words")
        return tuple(value)
    if not isinstance(value, str) or (key == "program" and value not in PROGRAMS):
        allowed = f"one of {', '.join(PROGRAMS)}" if key == "program" else "a text"
        raise _wrong(place, name, f"has a `{key}` that is not {allowed}")
    if key == "quota":
        try:
            re.compile(value)
        except re.error as error:
            raise _wrong(place, name, f"has a `quota` that is not a regular expression: {error}") from None
    return value


def _wrong(place: str, name: str, problem: str) -> DocumentError:
    known = ", ".join(Pool._fields[1:])
    return DocumentError(f"pool `{name}` {problem}", hint=f"fix the file; known keys: {known}", place=place)
