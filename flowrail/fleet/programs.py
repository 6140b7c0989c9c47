"""The command that starts an agent, and what its log says about a used-up quota."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flowrail.errors import UsageError
from flowrail.hosts.host import HOSTS
from flowrail.hosts.settings import with_ours
from flowrail.storage.configuration import FleetLimits

PROGRAMS = {host.program: host for host in HOSTS if host.headless}
"""The hosts that the fleet can run without a configuration, by their programs."""

QUOTA_SECONDS = 15 * 60
"""How long a worker waits if the message about a quota has no time in seconds since 1970. Then it tries again."""
_LARGEST_LINE = 1_000_000
_READ_FROM_END = 4_000_000
"""Bytes at the end of a log that are searched."""
_QUOTA = re.compile(
    r"(?:usage|rate|session|weekly|5-hour|quota) limit (?:reached|exceeded)|hit your (?:usage |session |weekly )?limit"
    r"|quota (?:exceeded|exhausted)",
    re.IGNORECASE,
)


def check_program(name: str, limits: FleetLimits, environ: Mapping[str, str]) -> None:
    """Refuse a program that is not known or not installed."""
    if name not in PROGRAMS and name not in limits.programs:
        known = ", ".join(sorted({*PROGRAMS, *limits.programs}))
        raise UsageError(
            f"unknown program `{name[:40]}`",
            hint=f'use one of {known}, or add it to config.toml: [fleet.programs] {name[:40]} = ["my-agent"]',
        )
    word = name if name in PROGRAMS else limits.programs[name][0]
    if shutil.which(word, path=environ.get("PATH")) is None:
        raise UsageError(
            f"the program `{word}` is not installed", hint="install it, or configure another one"
        )


def command_of(program: str, limits: FleetLimits, *, conversation: str, model: str | None) -> list[str]:
    """Return the command that runs an agent of *program*; its prompt comes from standard input."""
    host = PROGRAMS.get(program)
    if host is None:
        return limits.programs[program]
    replaced = {
        "$conversation": [conversation],
        "$settings": [json.dumps(with_ours({}, host))],
        "$model": ["--model", model] if model else [],
        "$arguments": limits.programs.get(program, host.fleet_arguments),
    }
    return [part for word in host.headless for part in replaced.get(word, [word])]


def quota_until(log: str) -> float | None:
    """Return when a used-up quota is available again, in seconds since 1970, if the output of a run says it is used up."""
    with open(log, "rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _READ_FROM_END))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return next(filter(None, (_quota_until(line, time.time()) for line in lines)), None)


def _quota_until(line: str, now: float) -> float | None:
    """Return when a used-up quota is available again, or `None` if *line* is not about a used-up quota.

    Lines from an agent or a tool do not count, because they may be about anything.
    """
    document: Any = {"type": "error"}  # a line that is no JSON comes from the program
    if line.startswith("{") and len(line) < _LARGEST_LINE:
        with suppress(ValueError, RecursionError):
            document = json.loads(line)
    limit = document.get("rate_limit_info")
    if document.get("type") == "rate_limit_event" and isinstance(limit, Mapping):
        if limit.get("status") != "rejected":
            return None
        resets = limit.get("resetsAt")
        return float(resets) if isinstance(resets, (int, float)) else now + QUOTA_SECONDS
    if document.get("type") not in {"result", "error", "turn.failed"}:
        return None
    message = _QUOTA.search(line)
    if message is None:
        return None
    moment = re.search(r"\b\d{10}\b", line[message.start() :])
    return float(moment[0]) if moment else now + QUOTA_SECONDS
