"""The programs that run agents: their commands, and the cost, tokens and quotas in their output.

Claude Code and Codex print one JSON document per line. A configured command may print the same documents.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from flowrail.fleet.pool import CLAUDE, CODEX, Pool
from flowrail.hosts.settings import PERMISSIONS, hooks

ARGUMENTS = {CLAUDE: ("--permission-mode", "acceptEdits"), CODEX: ("--sandbox", "workspace-write")}
"""Arguments that let an agent change files without asking, unless the pool has arguments of its own."""
QUOTA_SECONDS = 15 * 60
"""How long a pool pauses if the message about a quota has no time in seconds since 1970. Then it tries again."""
_LARGEST_LINE = 1_000_000
_READ_FROM_END = 4_000_000
"""Bytes at the end of a log that are searched."""
_QUOTA = re.compile(
    r"(?:usage|rate|session|weekly|5-hour|quota) limit (?:reached|exceeded)|hit your (?:usage |session |weekly )?limit"
    r"|quota (?:exceeded|exhausted)",
    re.IGNORECASE,
)


class LogSummary(NamedTuple):
    """A summary of the output of a run. ``quota_until`` is when a used-up quota is available again, in seconds since 1970."""

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
    """Return the summary of a run's output in the file *path*."""
    now = time.time()
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
    until = next((moment for line in lines if (moment := _quota_until(line, pool, now)) is not None), None)
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


def _quota_until(line: str, pool: Pool, now: float) -> float | None:
    """Return when a used-up quota is available again, or `None` if *line* is not about a used-up quota.

    Lines from an agent or a tool do not count, because they may be about anything.
    """
    if line.startswith("{"):
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            return None
        limit = document.get("rate_limit_info")
        if document.get("type") == "rate_limit_event" and isinstance(limit, Mapping):
            if limit.get("status") != "rejected":
                return None
            resets = limit.get("resetsAt")
            return float(resets) if isinstance(resets, (int, float)) else now + QUOTA_SECONDS
        if document.get("type") not in {"result", "error", "turn.failed"}:
            return None
    message = re.search(pool.quota, line) if pool.quota else _QUOTA.search(line)
    if message is None:
        return None
    moment = re.search(r"\b\d{10}\b", line[message.start() :])
    return float(moment[0]) if moment else now + QUOTA_SECONDS
