"""Any skill can hand off, even without a workflow of ours; its chain continues from the payload that it received."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.handoffs import handoffs_folder, payload_of, target
from support.interruptions import every_few_calls, killed_at_calls
from support.payloads import PAYLOADS
from support.sandbox import flow, refused, told
from support.terminal import at_a_terminal

PROMPT = ("-s", "prompt=Should we expand?")


def documents_skills() -> None:
    """Write the two targets of the handoff documents, one in each dialect."""
    target(
        "lit-pm",
        accepts_from="",
        schema_version="",
        accepts_handoff="true",
        handoff_categories="[research]",
        handoff_trigger='"--handoff {payload_path}"',
        protocol_version='"2.0"',
        requires="[context.original_prompt, context.problem_type]",
    )
    target("programming-pm", categories="[implementation]")


def received(sent: dict[str, Any]) -> dict[str, Any]:
    """Receive a handoff as a skill without a workflow, and return the answer."""
    answer: dict[str, Any] = told(*sent["receive_command"].split()[1:], "--format", "json")
    return answer


def test_three_hops_between_skills_without_a_workflow() -> None:
    documents_skills()

    first = told(
        "handoff", "send", "lit-pm", "--from", "perspective-swarm", *PROMPT, "-s", "problem_type=strategic"
    )
    received(first)
    second = told(
        "handoff", "send", "programming-pm", "--from", "lit-pm", "-s", "summary=Build it", "--reason", "why"
    )
    received(second)
    third = told("handoff", "send", "lit-pm", "--from", "programming-pm", "--yes", "--reason", "r")

    assert [sent["schema"] for sent in (first, second, third)] == ["2.0", "3.0", "2.0"]
    assert flow("handoff", "check", "--strict-v2", first["payload"]).status == 0
    handoff = payload_of(second)
    assert handoff["meta"]["handoff_chain"] == ["perspective-swarm", "lit-pm"]
    assert handoff["context"]["original_prompt"] == "Should we expand?"
    assert handoff["context"]["summary"] == "Build it"
    assert handoff["source"]["session_path"] == str(handoffs_folder() / second["id"]) + "/"
    assert handoff["payload"]["references"]["files"][0]["path"] == first["payload"]
    assert second["notes"] == [f"continues the work received in {first['id']}"]
    assert third["chain"] == ["perspective-swarm", "lit-pm", "programming-pm"]
    assert [sent["hops"] for sent in (first, second, third)] == [1, 2, 3]
    assert len({sent["trace_id"] for sent in (first, second, third)}) == 1
    assert told("audit", "--verify")["findings"] == []


@every_few_calls
def test_a_killed_send_of_a_skill_is_continued(stride: int) -> None:
    documents_skills()
    words = ["handoff", "send", "lit-pm", "--from", "perspective-swarm", *PROMPT]
    for _ in killed_at_calls(words, stride):
        sent = told(*words)
        assert sent["status"] == "sent"
        assert Path(sent["payload"]).exists()
        assert len(told("handoff", "status", "--all")["handoffs"]) == 1
        assert told("audit", "--verify")["findings"] == []
        shutil.rmtree(handoffs_folder())


def test_a_skill_hands_off_a_payload_that_it_wrote() -> None:
    documents_skills()
    shutil.copy(PAYLOADS / "v1.yaml", "work.yaml")

    sent = told("handoff", "send", "programming-pm", "--from", "perspective-swarm", "--payload", "work.yaml")

    handoff = payload_of(sent)
    assert handoff["payload"]["working"]["insights"]["uncertainties"] == ["True cost of GDPR compliance"]
    assert handoff["payload"]["working"]["convergence_level"] == "medium"
    assert handoff["context"]["original_prompt"] == "Should we expand into the European market?"
    assert handoff["meta"]["handoff_chain"] == ["perspective-swarm"]


def test_a_skill_continues_a_payload_from_elsewhere() -> None:
    documents_skills()
    shutil.copy(PAYLOADS / "v1.yaml", "received.yaml")

    sent = told(
        "handoff", "send", "programming-pm", "--from", "lit-pm", "--payload", "received.yaml", "-s", "a=b"
    )

    handoff = payload_of(sent)
    assert handoff["meta"]["handoff_chain"] == ["perspective-swarm", "lit-pm"]
    assert handoff["payload"]["working"]["facts"] == {"a": "b"}
    assert "insights" not in handoff["payload"]["working"]
    target("other")
    status, error = refused("handoff", "send", "lit-pm", "--from", "other", "--payload", "received.yaml")
    assert (status, error["code"]) == (6, "INVALID_PAYLOAD")
    Path("received.yaml").write_text("handoff: {version: '1.0'}")
    status, error = refused("handoff", "send", "lit-pm", "--from", "other", "--payload", "received.yaml")
    assert (status, error["code"]) == (6, "INVALID_PAYLOAD")


@pytest.mark.parametrize(("answer", "status"), [("yes", 0), ("no", 6)])
def test_a_person_at_a_terminal_is_asked_whether_a_loop_is_meant(answer: str, status: int) -> None:
    documents_skills()
    received(told("handoff", "send", "lit-pm", "--from", "programming-pm", *PROMPT))
    words = ["handoff", "send", "programming-pm", "--from", "lit-pm"]

    shown, ended = at_a_terminal(words, answer, columns=200)
    agent, _ = at_a_terminal(words, answer, env={"CLAUDE_CODE_SESSION_ID": "talk"})

    assert ended == status
    assert "WARNING: programming-pm already appears in the handoff chain for this session." in shown
    assert "Chain: programming-pm -> lit-pm -> programming-pm" in shown
    assert "Proceed anyway? Type yes: " in shown
    assert ("confirmed at the terminal" in shown) is (status == 0)
    assert "Proceed anyway?" not in agent
