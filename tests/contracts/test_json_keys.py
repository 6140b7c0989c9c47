"""The keys of JSON answers are promises: they are only ever added to."""

from __future__ import annotations

import json
import sys
from typing import Any

from support.golden import as_in_golden_file
from support.sandbox import ASKING, SMALL, flow, put_skill, refused, told

GOLDEN = "json_keys.json"

TEAM = """\
name: NAME
steps:
  - id: look
    title: Look
    actions: [Have it looked at.]
    dispatch: {agent: explore, workflow: NAME/look, over: [a], model: haiku}
    next: {ok: review}
  - id: review
    title: Review
    actions: [Have it reviewed.]
    dispatch: {agent: quality-reviewer, vars: {depth: 1}}
    next: {ok: gate, fail: gate}
  - {id: gate, title: Gate, actions: [Decide.], gate: {name: Quality, review: review}, next: {ok: null, fail: look}}
"""
PROVEN = f"""\
name: NAME
steps:
  - id: look
    title: Look
    actions: [Look.]
    commands: {{version: {{run: ["{sys.executable}", --version], facts: {{number: {{match: "Python (.*)"}}}}}}}}
    evidence: {{ok: [{{id: seen, command: version}}]}}
    next: {{ok: null}}
"""
QUESTION = b"""\
<needs_user_input><question id="db" header="Store"><text>Which?</text>
<option label="Redis">Fast</option><option label="Postgres">A server</option></question></needs_user_input>"""

COUNTS = {"statuses", "stops", "stopped_at_limit", "dwell", "refused", "repeated"}
FREE = COUNTS | {"facts", "params", "details", "note", "vars", "result"}
"""Their keys are an author's, or belong to one error or record."""


def keys_of(value: Any, at: str = "") -> set[str]:
    """Return the path of every key, list items as ``[]``; values of facts and parameters aside."""
    if isinstance(value, list):
        return set().union(*(keys_of(item, f"{at}[]") for item in value))
    if not isinstance(value, dict) or at.rpartition(".")[2] in FREE:
        return set()
    found: set[str] = set()
    for key, item in value.items():
        if not key.isupper():  # (a code that is counted)
            found |= {f"{at}.{key}"} | keys_of(item, f"{at}.{key}")
    return found


def answers() -> dict[str, Any]:
    """Return one answer of each kind, with as much in it as there can be."""
    put_skill("asking", ASKING, texts={"workflows/look.yaml": SMALL.replace("NAME", "NAME/look")})
    put_skill("wrong", SMALL.replace("ok: second", "ok: nowhere"))
    step = told("step", "asking")
    told("step", "asking", "done", "-s", "sure=high", "-s", "where=a")
    return {
        "step": step,
        "status": told("status"),
        "sessions": told("sessions"),
        "history": told("history", step["session"]),
        "list": told("list"),
        "show": told("show", "asking"),
        "check": json.loads(flow("check", "wrong", "--json").out),
        "diagram": told("diagram", "asking", "--session", step["session"]),
        "preview": told("skill", "preview", "asking", "look"),
        "test": told("test", "asking"),
        "abandon": told("session", "abandon", step["session"]),
        "error": json.loads(flow("step", "nosuch", "--json").out),
        **evidence(),
        **work_of_others(),
        **of_the_set_up(),
    }


def evidence() -> dict[str, Any]:
    """Return the answers about a step that demands evidence, met and not met."""
    put_skill("proven", PROVEN)
    session = told("start", "proven")["session"]
    waiting = told("trust")
    _, error = refused("trust", "proven", "--digest", "0")
    approved = told("trust", "proven", "--digest", error["details"]["digest"])
    refusal = flow("step", "proven", "ok", "--session", session, "--json").data
    ran = told("run", "version", "--session", session)
    accepted = told("step", "proven", "ok", "--session", session)
    return {
        "trust": approved,
        "waiting": waiting,
        "evidence-missing": refusal,
        "run": ran,
        "evidence-step": told("start", "proven"),
        "evidence-history": told("history", accepted["session"]),
    }


def of_the_set_up() -> dict[str, Any]:
    """Return the answers about kept sessions, about skills in sight, and about what is installed."""
    put_skill("small")
    session = told("step", "small")["session"]
    return {
        "verify": told("session", "verify", "--all"),
        "prune": told("session", "prune", "--dry-run", "--older-than", "0d"),
        "migrate": told("session", "migrate", session, "--plan"),
        "rewind": told("session", "rewind", session, "--to", "0"),
        "fork": told("session", "fork", session, "--at", "0"),
        "audit": told("audit"),
        "proof": told("audit", "verify"),
        "discover": told("discover", "--all", "--category", "analysis"),
        "doctor": json.loads(flow("doctor", "--json").out),
        "sync": told("registry", "sync", "--check"),
        "new": told("new", "fresh"),
        "install": told("install", "decision-critic"),
        "uninstall": told("skill", "uninstall", "decision-critic"),
        "hooks": told("hook", "install"),
        "unhook": told("hook", "uninstall"),
    }


def work_of_others() -> dict[str, Any]:
    """Return the answers about work given to agents, a review of it, and a question."""
    put_skill("team", TEAM, texts={"workflows/look.yaml": SMALL.replace("NAME", "NAME/look")})
    session = told("start", "team")["session"]
    child = told("step", "--session", session + ".0.1")
    ask = told("ask", child["session"], "-", stdin=QUESTION)
    team = told("resume", session)
    answer = told("answer", child["session"], "db=Redis")
    told("step", "team/look", "ok", "--session", child["session"])
    told("step", "team/look", "ok", "--session", child["session"])
    told("step", "team", "ok", "--session", session)
    return {
        "team": team,
        "child": child,
        "ask": ask,
        "answer": answer,
        "child_from_prompt": told("step", "--session", session + ".1.1"),
        "finding": told("finding", "add", session, "--severity", "MUST", "--text", "wrong"),
        "findings": told("finding", "list", session),
        "again": told("step", "--session", session, "--again", "1"),
        "review": told("resume", session),
    }


def test_every_key_of_an_answer_is_listed() -> None:
    found = {name: sorted(keys_of(answer)) for name, answer in answers().items()}

    assert as_in_golden_file(GOLDEN, json.dumps(found, indent=1))
