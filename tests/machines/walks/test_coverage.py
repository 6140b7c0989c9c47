"""The transitions that stored sessions have taken."""

from __future__ import annotations

from support.sandbox import ASKING, put_skill, told

from flowrail.diagrams.renderers import mermaid
from flowrail.machines.walks.coverage import SessionCoverage, of_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.skills.taken_transitions import drawn, histories

GATED = """\
name: NAME
steps:
  - {id: plan, title: Plan, actions: [Plan.], next: {ok: check}}
  - {id: check, title: Check, actions: [Check.], next: {ok: gate}}
  - id: gate
    title: Gate
    actions: [Decide.]
    gate: {name: Plan, review: check, limit: 1}
    next: {ok: extra, fail: plan}
  - {id: extra, title: Extra, actions: [Extra.], when: "visit > 1", next: {ok: tell}}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null, _default: plan}}
"""
HIGH = ("done", "-s", "sure=high", "-s", 'where=["src"]')
LOW = ("done", "-s", "sure=low", "-s", 'where=["src"]')


def walk(skill: str, *reports: tuple[str, ...]) -> str:
    """Start a session, report each of *reports* in turn, and return its id."""
    session = str(told("step", skill, "--new")["session"])
    for words in reports:
        told("step", skill, *words, "--session", session)
    return session


def lived(skill: str) -> SessionCoverage:
    environment = Environment()
    return of_sessions(environment.loader.load(skill).definition, histories(environment.store, skill))


def counts(data: SessionCoverage) -> dict[str, int]:
    return {f"{step} {outcome}": count for (step, outcome), count in data.coverage.counts.items()}


def test_sessions_tell_which_ways_were_taken_and_where_they_stop() -> None:
    put_skill("asking", ASKING)
    walk("asking", LOW, HIGH, ("ok",))
    walk("asking", HIGH)
    gone = walk("asking", LOW)
    told("session", "abandon", gone)

    data = lived("asking")

    assert counts(data) == {"look ok": 2, "look iterate": 2, "tell ok": 1, "tell fail": 0}
    assert (data.sessions, data.statuses) == (3, {"completed": 1, "active": 1, "abandoned": 1})
    assert data.stops == {"look": 1, "tell": 1}
    assert data.coverage.missing == (("tell", "fail"),)
    assert data.unread == 0


def test_going_back_takes_no_way() -> None:
    put_skill("asking", ASKING)
    session = walk("asking", LOW, HIGH)
    told("session", "rewind", session, "--to", "0")

    data = lived("asking")

    assert counts(data) == {"look ok": 1, "look iterate": 1, "tell ok": 0, "tell fail": 0}


def test_the_picture_has_a_count_on_every_way_and_shows_what_was_never_taken() -> None:
    put_skill("gated", GATED)
    walk("gated", ("ok",), ("ok",), ("done",), ("skip",), ("ok",))

    definition = Environment().loader.load("gated").definition
    out = mermaid.render(drawn(definition, lived("gated").coverage))

    assert 's1 ==>|"ok · twice"| s2' in out
    assert 's3 -.->|"fail (at most 1 attempt, then the user decides) · never"| s1' in out
    assert 's5 ==>|"any other · once"| s1' in out
