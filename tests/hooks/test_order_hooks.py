"""Order rules of a session: the hook denies the call that would break one, and a report that would is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.hooks import A, claude_code, denied, hook, shell, within
from support.sandbox import allow, flow, put_skill, refused, told

SKILL = """\
name: NAME
description: Count and book.
order:
  - 'count before each "Bash(tools/book*)"'
  - 'at most 2 "Bash(tools/look*)" per attempt of count'
  - '"Bash(make test*)" before close'
steps:
  - {id: count, title: Count, actions: [Count.], next: {ok: work, fail: count}}
  - id: work
    title: Work
    actions: [Book.]
    commands: {book: {run: ["true"]}}
    next: {ok: close, iterate: count}
  - {id: close, title: Close, actions: [Close.], next: {ok: null}}
"""
HELPED = SKILL.replace(
    "    next: {ok: close", "    dispatch: {agent: explore, prompt: [Help.]}\n    next: {ok: close"
)


def use(line: str, conversation: str = A, **more: Any) -> str:
    """Return why a shell line is denied, or an empty text."""
    given = {"tool_name": "Bash", "tool_input": {"command": line}, **more}
    return denied(hook("pre-tool-use", claude_code("pre-tool-use", conversation, **given)))


@pytest.fixture
def session() -> str:
    put_skill("stock", SKILL)
    return str(within(A, "step", "stock")["session"])


def records(session: str) -> list[tuple[str, Any]]:
    history = told("sessions", session)["history"]
    return [(entry["kind"], entry["note"].get("rule")) for entry in history]


def test_a_call_that_would_break_a_rule_is_denied_with_what_is_missing(session: str) -> None:
    reason = use("tools/book elm")

    assert 'The order rule `count before each "Bash(tools/book*)"` of `stock` denies this: ' in reason
    assert "ok of count is missing" in reason
    assert f"`flow resume {session}" in reason
    assert records(session)[-1] == ("denied", 'count before each "Bash(tools/book*)"')


def test_a_sub_agents_call_counts_for_the_session_it_works_for() -> None:
    put_skill("stock", HELPED)
    within(A, "step", "stock")
    child = within(A, "step", "stock", "ok")["dispatches"][0]["child"]
    shell(f"flow step --session {child}", "a1b2c3")

    assert use("tools/book elm", agent_id="a1b2c3") == ""
    assert use("tools/book oak", agent_id="a1b2c3")
    assert use("tools/book oak")


def test_a_report_that_would_break_a_rule_is_refused_if_hooks_see_the_calls(session: str) -> None:
    within(A, "step", "stock", "ok")
    use("ls")

    status, error = refused("step", "stock", "ok", "--session", session)

    assert (status, error["code"]) == (4, "ORDER_BROKEN")
    assert '"Bash(make test*)" is missing' in error["message"]
    assert records(session)[-1][0] == "denied"
    use("make test")
    assert flow("step", "stock", "ok", "--session", session).status == 0


def test_a_command_that_flow_runs_counts_as_a_call() -> None:
    put_skill(
        "stock",
        SKILL.replace('["true"]', "[tools/book, elm]"),
    )
    tool = Path("tools", "book")
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    allow("stock")
    session = told("step", "stock")["session"]
    flow("step", "stock", "ok")

    flow("run", "book", "--session", session)
    status, error = refused("run", "book", "--session", session)

    assert (status, error["code"]) == (4, "ORDER_BROKEN")
    assert "tools/book elm" in error["message"]


BROKEN = """\
name: NAME
description: x
order: [review before publish, verify after fix]
steps:
  - {id: review, title: Review, actions: [Look.], next: {ok: fix, skip: publish}}
  - {id: fix, title: Fix, actions: [Fix.], next: {ok: publish}}
  - {id: publish, title: Publish, actions: [Push.], next: {ok: null, iterate: verify}}
  - {id: verify, title: Verify, actions: [Test.], next: {ok: null}}
"""


def test_a_report_that_breaks_a_rule_over_steps_is_refused_everywhere() -> None:
    put_skill("broken", BROKEN)
    session = told("step", "broken")["session"]

    status, error = refused("step", "broken", "skip")
    flow("step", "broken", "ok")
    flow("step", "broken", "ok")
    end = refused("step", "broken", "ok")

    assert (status, error["code"], error["details"]["rule"]) == (4, "ORDER_BROKEN", "review before publish")
    assert (end[1]["details"]["rule"], end[1]["message"][-10:]) == ("verify after fix", "is missing")
    assert told("step", "broken", "iterate", "--session", session)["step"]["id"] == "verify"
    assert told("step", "broken", "ok", "--session", session)["status"] == "completed"


def test_without_hooks_a_rule_about_calls_refuses_no_report(session: str) -> None:
    within(A, "step", "stock", "ok")

    assert flow("step", "stock", "ok", "--session", session).status == 0
