"""The programs that run agents: their commands, and what their output says about cost, tokens and quotas.

Claude Code and Codex print one JSON document per line. A configured command may print the same documents.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from flowrail.fleet.pool import CLAUDE, CODEX, Pool
from flowrail.hosts.settings import PERMISSIONS, hooks

ARGUMENTS = {CLAUDE: ("--permission-mode", "acceptEdits"), CODEX: ("--sandbox", "workspace-write")}
"""What lets an agent change files without asking, unless the pool has arguments of its own."""
QUOTA_SECONDS = 15 * 60
"""How long a pool pauses if the message about a quota does not say when it is available again."""
_LARGEST_LINE = 1_000_000
_READ_FROM_END = 4_000_000
"""Bytes at the end of a log that are searched."""
_QUOTA = re.compile(
    r"(?:usage|rate|session|weekly|5-hour|quota) limit (?:reached|exceeded)|hit your (?:usage |session |weekly )?limit"
    r"|quota (?:exceeded|exhausted)",
    re.IGNORECASE,
)
_NOON, _HOUR = 12, 60
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


class LogSummary(NamedTuple):
    """What the output of a run says. ``quota_until`` is when a used-up quota is available again, in seconds since 1970."""

    sha256: str
    cost: float | None = None
    tokens: int | None = None
    quota_until: float | None = None


def command_of(pool: Pool, *, conversation: str, model: str | None) -> list[str]:
    """Return the command that runs an agent of *pool*; its prompt comes from standard input.

    *conversation* is the id that Claude Code gives its session, so that the hooks know whose session it is.
    """
    arguments = pool.arguments or ARGUMENTS.get(pool.program, ())
    if pool.command:
        return [*pool.command, *arguments]
    if pool.program == CLAUDE:
        settings = {"permissions": {"allow": list(PERMISSIONS)}, "hooks": hooks()}
        words = ["claude", "-p", "--session-id", conversation, "--output-format", "stream-json", "--verbose"]
        words += ["--settings", json.dumps(settings)]
        words += ["--max-budget-usd", f"{pool.job_cost:g}"] if pool.job_cost else []
        return [*words, *(["--model", model] if model else []), *arguments]
    return ["codex", "exec", "--json", *arguments, "-"]


def read_log(path: str, pool: Pool) -> LogSummary:
    """Return the digest of a run's output, and what it says."""
    at = time.time()
    digest = sha256()
    with open(path, "rb") as log:
        while piece := log.read(1 << 20):
            digest.update(piece)
        log.seek(max(0, log.tell() - _READ_FROM_END))
        lines = log.read().decode("utf-8", "replace").splitlines()
    cost, tokens = None, 0
    for document in _documents(lines):
        price = document.get("total_cost_usd")
        cost = float(price) if isinstance(price, (int, float)) else cost
        if document.get("type") in {"result", "turn.completed"}:
            tokens += _tokens(document.get("usage"))
    until = next((found for line in lines if (found := _quota_until(line, pool, at)) is not None), None)
    return LogSummary(digest.hexdigest(), cost, tokens or None, until)


def program_exists(pool: Pool, environ: Mapping[str, str]) -> bool:
    """Return whether the program of *pool* is installed."""
    word = pool.command[0] if pool.command else pool.program
    return shutil.which(os.path.expanduser(word), path=environ.get("PATH")) is not None


def _documents(lines: list[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        if line.startswith("{") and len(line) < _LARGEST_LINE:
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            yield document


def _tokens(usage: object) -> int:
    """Return all tokens of a run. Codex counts cached ones among its input, Claude Code beside it."""
    if not isinstance(usage, Mapping):
        return 0
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int(usage[name]) for name in names if isinstance(usage.get(name), (int, float)))


def _quota_until(line: str, pool: Pool, at: float) -> float | None:
    """Return when the quota that *line* says is used up is available again, or `None` if it says nothing of it.

    Lines in which an agent or a tool speaks do not count: they may be about anything.
    """
    if line.startswith("{"):
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            return None
        limit = document.get("rate_limit_info")
        if document.get("type") == "rate_limit_event" and isinstance(limit, Mapping):
            rejected = limit.get("status") == "rejected"
            resets = limit.get("resetsAt")
            return (
                (float(resets) if isinstance(resets, (int, float)) else at + QUOTA_SECONDS)
                if rejected
                else None
            )
        if document.get("type") not in {"result", "error", "turn.failed"}:
            return None
    found = re.search(pool.quota, line) if pool.quota else _QUOTA.search(line)
    return None if found is None else _moment(line[found.start() :], at)


def _moment(text: str, at: float) -> float:
    """Return the time in *text*: seconds since 1970, `in 2 hours 5 minutes`, or `3:50pm (Asia/Tokyo)`."""
    epoch = re.search(r"\b(\d{10})(?:\d{3})?\b", text)
    if epoch:
        return float(epoch[1])
    clock = re.search(r"\b(\d{1,2})(?::(\d\d))? ?([ap])m\b(?: \(([\w/+-]+)\))?", text, re.IGNORECASE)
    if clock and int(clock[1]) <= _NOON and int(clock[2] or 0) < _HOUR:
        return _next_time(int(clock[1]) % _NOON, int(clock[2] or 0), clock[3].lower() == "p", clock[4], at)
    parts = re.findall(r"(\d+) ?(d|h|m|s)(?:ays?|ours?|in(?:ute)?s?|ec(?:ond)?s?)?\b", text, re.IGNORECASE)
    seconds = sum(int(number) * _UNITS[unit.lower()] for number, unit in parts)
    return at + (seconds or QUOTA_SECONDS)


def _next_time(hour: int, minute: int, afternoon: bool, zone: str | None, at: float) -> float:
    """Return when the clock in *zone*, by default the one of this machine, next shows that time."""
    try:
        zone_info = ZoneInfo(zone) if zone else None
    except (ValueError, OSError, KeyError):  # no such zone
        zone_info = None
    start = datetime.fromtimestamp(at, zone_info) if zone_info else datetime.fromtimestamp(at).astimezone()
    found = start.replace(hour=hour + _NOON * afternoon, minute=minute, second=0, microsecond=0)
    return (found if found > start else found + timedelta(days=1)).timestamp()
