"""The transitions that walks and stored sessions have taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.sandbox import ASKING, allow, flow, put_python, put_skill, refused, told

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
    session = str(told("start", skill)["session"])
    for words in reports:
        told("step", skill, *words, "--session", session)
    return session


def lived(skill: str, *more: str) -> Any:
    return told("skill", "coverage", skill, "--sessions", *more)


def counts(data: Any) -> dict[str, int]:
    return {
        f"{transition['step']} {transition['outcome']}": transition["count"]
        for transition in data["transitions"]
    }


def test_the_walks_of_a_test_take_every_way() -> None:
    put_skill("asking", ASKING)

    data = told("skill", "coverage", "asking")

    assert data["of"] == "walks"
    assert data["taken"] == data["total"] == 4
    assert data["missing"] == []
    assert all(transition["count"] for transition in data["transitions"])
    assert data["transitions"][0].keys() == {"step", "outcome", "to", "count"}


def test_sessions_tell_which_ways_were_taken_and_where_they_stop() -> None:
    put_skill("asking", ASKING)
    walk("asking", LOW, HIGH, ("ok",))
    walk("asking", HIGH)
    gone = walk("asking", LOW)
    told("session", "abandon", gone)

    data = lived("asking")

    assert counts(data) == {"look ok": 2, "look iterate": 2, "tell ok": 1, "tell fail": 0}
    assert (data["sessions"], data["statuses"]) == (3, {"completed": 1, "active": 1, "abandoned": 1})
    assert data["stops"] == {"look": 1, "tell": 1}
    assert data["missing"] == [{"step": "tell", "outcome": "fail"}]
    assert list(data["dwell"]) == ["look", "tell"]
    assert (data["elsewhere"], data["unread"]) == (0, 0)


def test_the_limit_counts_as_the_way_it_takes_and_the_users_stop_by_itself() -> None:
    put_skill("asking", ASKING)
    put_skill("gated", GATED)
    walk("asking", LOW, LOW, LOW)
    session = walk("gated", ("ok",))
    told("finding", "add", session, "--severity", "MUST", "--text", "wrong")
    told("step", "gated", "ok", "--session", session)
    told("step", "gated", "done", "--session", session)
    told("answer", session, "limit=stop")
    told("step", "gated", "done", "--session", session)

    assert counts(lived("asking"))["look ok"] == 1
    data = lived("gated")
    assert data["stopped_at_limit"] == {"gate": 1}
    assert data["never_failed"] == []
    assert data["elsewhere"] == 0
    assert "ended by the user at a limit: gate 1" in flow("skill", "coverage", "gated", "--sessions").out


def test_going_back_takes_no_way_and_renamed_steps_count_under_their_names_of_today() -> None:
    folder = put_skill("asking", ASKING)
    session = walk("asking", LOW, HIGH)
    told("session", "rewind", session, "--to", "0")
    text = (folder / "workflow.yaml").read_text()
    renamed = text.replace("look", "watch")
    (folder / "workflow.yaml").write_text(renamed)
    assert lived("asking")["elsewhere"] == 2
    told("session", "migrate", session, "--map", "look=watch")

    data = lived("asking")

    assert counts(data) == {"watch ok": 1, "watch iterate": 1, "tell ok": 0, "tell fail": 0}
    assert data["elsewhere"] == 0


def test_the_picture_has_a_count_on_every_way_and_shows_what_was_never_taken() -> None:
    put_skill("gated", GATED)
    walk("gated", ("ok",), ("ok",), ("done",), ("skip",), ("ok",))

    out = flow("skill", "coverage", "gated", "--sessions", "--format", "mermaid").out

    assert 's1 ==>|"ok · twice"| s2' in out
    assert 's3 -.->|"fail (at most 1 attempt) · never"| s1' in out
    assert 's5 ==>|"any other · once"| s1' in out
    assert '"2 · Check (1 stop here)"' in out


def test_python_runs_for_walks_only_where_allowed_and_never_for_sessions(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    put_python("py", before=f"open({str(canary)!r}, 'w').close()\n")

    assert refused("skill", "coverage", "py")[0] == 7
    assert counts(lived("py")) == {"first ok": 0, "first fail": 0, "second ok": 0}
    assert not canary.exists()
    allow("py")
    assert counts(told("skill", "coverage", "py"))["first ok"] > 0
