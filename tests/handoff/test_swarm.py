"""A whole handoff: the session of perspective-swarm, its payload, and the skill that takes over."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from support.handoffs import receive, target
from support.sandbox import flow, sessions_folder, told

from flowrail.handoff.payload.document import read_file

PROMPT = "Should we expand into the European market next year?"
FACTS = {
    "convergence_level": "medium",
    "synthesis_summary": "All but the critic see demand; the cost of compliance is the open point.",
    "convergent_insights": [
        {
            "theme": "Demand exists but is narrow",
            "confidence_score": 6.7,
            "contributing_archetypes": ["optimist", "analyst", "pragmatist"],
            "key_evidence": ["report 2024", "sales log"],
        }
    ],
    "divergent_insights": [{"archetype": "critic", "insight": "Compliance is costly", "confidence": 7}],
    "confidence_scale": "0-10",
    "key_uncertainties": ["What compliance costs", "Who competes", "What it earns"],
    "blind_spots": ["May underweight execution (optimist)"],
    "perspectives_completed": 5,
    "perspective_files": ["PERSPECTIVES/critic.md"],
    "suggested_terms": [{"term": "compliance cost studies", "rationale": "settles what the critic doubts"}],
    "open_questions": ["Which partnerships have worked?"],
    "user_feedback": "More on compliance",
}


def run(command: str, *more: str) -> Any:
    return told(*shlex.split(command)[1:], *more)


def command_for(answer: Any, outcome: str) -> str:
    return str(
        next(transition["command"] for transition in answer["next"] if transition["outcome"] == outcome)
    )


def examples(answer: Any) -> list[str]:
    wants = {
        name: arg["example"]
        for transition in answer["next"]
        for name, arg in transition["wants"].items()
        if arg.get("required")
    }
    return [
        word
        for name, value in wants.items()
        for word in ("-s", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    ]


def finish(answer: Any) -> None:
    """Walk a session to its end, always by the first next command."""
    while answer["next"]:
        answer = run(answer["next"][0]["command"], *examples(answer))


def handed_over_by_the_swarm(answer: Any = None) -> Any:
    """Return the swarm's session at its last step."""
    answer = answer or told("step", "perspective-swarm", "--new", "-p", f"prompt={PROMPT}")
    answer = run(command_for(answer, "ok"), *examples(answer))
    for dispatch in answer["dispatches"]:
        finish(run(dispatch["command"]))
    answer = told("resume", answer["session"])
    folder = sessions_folder() / answer["session"] / "work" / "perspectives"
    folder.mkdir(exist_ok=True)
    for archetype in ("optimist", "critic", "analyst", "innovator", "pragmatist"):
        (folder / f"{archetype}.md").write_text(f"## Statement\n{archetype}\n")
    answer = run(command_for(answer, "ok"))
    Path("facts.json").write_text(json.dumps(FACTS).replace("PERSPECTIVES", str(folder)))
    answer = run(
        next(transition["command"] for transition in answer["next"]).split(" -s ")[0],
        "--session",
        answer["session"],
        "--facts",
        "facts.json",
    )
    [question] = answer["questions"]
    labels = [option["label"] for option in question["options"]]
    answer = run(question["choices"][labels.index("Hand it to another skill")])
    if answer["step"]["id"] != "handoff":
        answer = run(answer["next"][0]["command"])
    return answer


def test_the_swarm_hands_its_synthesis_to_solution_design() -> None:
    answer = handed_over_by_the_swarm()
    session = answer["session"]
    assert answer["step"]["id"] == "handoff"
    told_there = " ".join(answer["actions"])
    assert "flow discover --session" in told_there
    assert "flow handoff send" in told_there

    targets = told("discover", "--session", session)["candidates"]
    chosen = next(target for target in targets if target["skill"] == "solution-design")
    sent = run(chosen["command"], "--reason", "the user wants a design")
    taken = receive(sent).data["step"]
    ended = run(command_for(answer, "ok"))

    assert ended["status"] == "completed"
    assert taken["skill"] == "solution-design"
    assert taken["params"]["problem"] == PROMPT
    assert "handed over by perspective-swarm" in taken["actions"][0]
    handoff = read_file(sent["payload"]).handoff
    assert handoff["context"]["summary"] == FACTS["synthesis_summary"]
    assert handoff["context"]["known_gaps"] == FACTS["key_uncertainties"]
    assert handoff["source"]["phase"] == "handoff"
    working = handoff["payload"]["working"]
    assert working["insights"]["convergent"] == FACTS["convergent_insights"]
    assert working["insights"]["divergent"][0]["confidence"] == 4
    assert working["research_seeds"]["suggested_terms"][0]["term"] == "compliance cost studies"
    assert (working["perspectives_completed"], working["convergence_level"]) == (5, "medium")
    assert working["user_feedback"] == "More on compliance"
    assert [artifact["name"] for artifact in handoff["payload"]["session"]["artifacts"]] == ["critic.md"]
    assert handoff["meta"]["confidence"] == "medium"
    assert told("audit", "--verify")["findings"] == []


def test_the_first_stage_fills_the_cache_and_the_last_offers_the_ranked_targets() -> None:
    target("lit-pm", handoff_description='"Comprehensive literature review (4-24 hours)"')
    answer = told("step", "perspective-swarm", "--new", "-p", f"prompt={PROMPT}")
    first = told("discover", "--session", answer["session"])
    again = told("discover", "--session", answer["session"])
    session = handed_over_by_the_swarm(answer)["session"]

    lines = flow("discover", "--session", session, "--options").out.splitlines()
    whole = flow("discover", "--session", session, "--all").out

    assert (bool(first["cached_at"]), bool(again["cached_at"])) == (False, True)
    assert lines[0] == (
        "C. lit-pm: Comprehensive literature review (4-24 hours) "
        "(score: 5 of 10; payload 3.0, compatible; takes an unknown time)"
    )
    assert [line[:2] for line in lines[:5]] == ["C.", "D.", "E.", "F.", "G."]
    assert lines[5:] == ["3 more with --all."]
    assert whole.count("flow handoff send ") == 8
    cached = (sessions_folder() / session / "available-workflows.yaml").read_text()
    assert "- skill: lit-pm" in cached
    assert "relevance_score: 5" in cached
