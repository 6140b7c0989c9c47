"""Claude Code and Codex as agents: their arguments, and what their output says."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from flowrail.fleet import programs
from flowrail.fleet.programs import QUOTA_SECONDS


def quota_until(line: str) -> float | None:
    """Return what a log with one line says about a quota, in seconds from now."""
    Path("log").write_text(f"{line}\n")
    until = programs.quota_until("log")
    return None if until is None else until - time.time()


def test_workers_wait_until_the_time_in_a_message_about_a_quota_or_for_a_while() -> None:
    error = {"type": "error", "message": f"usage limit reached|{int(time.time()) + 30}"}

    assert quota_until(json.dumps(error)) == pytest.approx(30, abs=5)
    assert quota_until("You've hit your session limit · resets 3:50pm") == pytest.approx(QUOTA_SECONDS, abs=5)


def test_claude_code_says_in_an_event_when_its_quota_is_available_again() -> None:
    resets = int(time.time()) + 900
    info = {"status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour"}
    allowed = {**info, "status": "allowed"}

    assert quota_until(json.dumps({"type": "rate_limit_event", "rate_limit_info": info})) == pytest.approx(
        900, abs=5
    )
    assert quota_until(json.dumps({"type": "rate_limit_event", "rate_limit_info": allowed})) is None


def test_what_an_agent_says_about_quotas_is_ignored() -> None:
    message = {"type": "item.completed", "item": {"type": "agent_message", "text": "usage limit reached"}}

    assert quota_until(json.dumps(message)) is None
    assert quota_until("the tests of the usage page pass") is None
