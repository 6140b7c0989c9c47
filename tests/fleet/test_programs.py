"""Claude Code and Codex as agents: their arguments, and what their output says."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from flowrail.fleet.pool import Pool
from flowrail.fleet.programs import QUOTA_SECONDS, read_log

CODEX = Pool("codex", program="codex")


def quota_until(line: str, pool: Pool = CODEX) -> float | None:
    """Return what a log with one line says about a quota, in seconds from now."""
    Path("log").write_text(f"{line}\n")
    until = read_log("log", pool).quota_until
    return None if until is None else until - time.time()


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("You've hit your usage limit. Try again in 2 hours 5 minutes.", 7500),
        ("You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours 14 minutes.", 234840),
        ("You've hit your session limit", QUOTA_SECONDS),
        ('{"type": "error", "message": "You\'ve hit your usage limit. Try again in 30 s."}', 30),
    ],
)
def test_a_message_about_a_quota_says_when_it_is_available_again(line: str, seconds: float) -> None:
    assert quota_until(line) == pytest.approx(seconds, abs=5)


def test_a_quota_that_resets_at_a_time_of_day_is_available_at_that_time() -> None:
    until = quota_until("You've hit your session limit · resets 3:50pm (Asia/Tokyo)")

    assert until is not None
    assert 0 < until <= 24 * 3600
    moment = datetime.fromtimestamp(time.time() + until, UTC).astimezone(ZoneInfo("Asia/Tokyo"))
    assert (moment.hour, moment.minute) in {(15, 50), (15, 49)}


def test_claude_code_says_in_an_event_when_its_quota_is_available_again() -> None:
    resets = int(time.time()) + 900
    info = {"status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour"}
    allowed = {**info, "status": "allowed"}

    assert quota_until(json.dumps({"type": "rate_limit_event", "rate_limit_info": info})) == pytest.approx(
        900, abs=5
    )
    assert quota_until(json.dumps({"type": "rate_limit_event", "rate_limit_info": allowed})) is None


def test_what_an_agent_says_about_quotas_pauses_nothing() -> None:
    said = {"type": "item.completed", "item": {"type": "agent_message", "text": "usage limit reached"}}

    assert quota_until(json.dumps(said)) is None
    assert quota_until("the tests of the usage page pass") is None


def test_a_pool_can_have_a_message_of_its_own() -> None:
    assert quota_until(
        "no credits left, come back in 10 min", Pool("x", quota="no credits left")
    ) == pytest.approx(600, abs=5)
