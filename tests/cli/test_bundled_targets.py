"""Menus offer bundled skills, and know the results of earlier handoffs."""

from __future__ import annotations

from support.handoffs import ours, receive, send, session, target
from support.sandbox import SMALL, flow, home_skills, put_skill, sessions_folder, told
from support.skills import head, put

from flowrail.discovery import menu_cache

BUILDER = (
    'handoff: {accepts_from: ["*"], schema_version: "3.0"}',
    "categories: [implementation, architecture]",
    "meta: {estimated_duration: days-to-weeks, autonomous: false}",
)


def builder(name: str = "builder") -> str:
    return head(name, *BUILDER, description="Builds what is specified.")


# --- the bundled ones -----------------------------------------------------------------------------


def bundled(*words: str) -> list[str]:
    return [skill["skill"] for skill in told("discover", *words)["bundled"]]


def test_bundled_skills_are_offered_behind_the_installed_ones() -> None:
    put(home_skills(), "builder", builder())

    data, out = told("discover", "--category", "implementation"), flow("discover").out

    assert [skill["skill"] for skill in data["candidates"]] == ["builder"]
    assert {"planner", "refactor"} <= {skill["skill"] for skill in data["bundled"]}
    assert {(skill["scope"], skill["score"]) for skill in data["bundled"]} == {("bundled", 60)}
    assert data["counts"]["skills"] == 1
    assert out.index("1. builder") < out.index("Bundled skills") < out.index("more with")
    assert len(bundled()) > len(bundled("--top", "2")) == 2


def test_menus_and_targets_share_the_cache_of_the_session() -> None:
    put(home_skills(), "reader")
    put_skill("small", where=home_skills())
    session_id = told("start", "small")["session"]
    cache = sessions_folder() / session_id / menu_cache.FILE

    first = told("handoff", "targets", "--session", session_id)
    put(home_skills(), "later")
    ranked = told("handoff", "targets", "--session", session_id, "--problem-type", "strategic")
    menu = told("discover", "--session", session_id)

    assert (first["cache"]["used"], ranked["cache"]["used"], menu["cache"]["used"]) == (False, True, True)
    assert first["scorer"] == "none"
    assert {c["score"] for c in first["candidates"]} == {None}
    assert "later" not in [c["skill"] for c in ranked["candidates"]]
    assert [c["skill"] for c in menu["candidates"]] == ["reader"]
    assert "relevance_score: 3" in cache.read_text()
    assert told("resume", session_id)
    assert "later" in [c["skill"] for c in told("handoff", "targets", "--session", session_id)["candidates"]]


# --- what became of handoffs before ---------------------------------------------------------------


def parts(skill: str, *words: str) -> dict[str, int]:
    offered = [*told(*words)["candidates"], *told(*words).get("bundled", [])]
    (candidate,) = [item for item in offered if item["skill"] == skill]
    return {part["rule"]: part["points"] for part in candidate["parts"]}


def test_a_received_handoff_counts_for_its_target_and_its_session_has_a_problem_type() -> None:
    for name in ("digger", "other"):
        target(name)
    ours("builder", SMALL)
    session_id = session()
    asked = ["--category", "research"]
    assert parts("digger", "discover", *asked)["history"] == 0
    send("other", session_id)
    receive(send("digger", session_id))
    taken = receive(send("builder", session_id)).data["session"]

    for words in (["discover", *asked], ["handoff", "targets", *asked]):
        assert parts("digger", *words)["history"] == 10
        assert parts("other", *words)["history"] == 0
    assert parts("digger", "handoff", "targets", "--session", taken)["problem type"] == 3
