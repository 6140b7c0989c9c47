"""Any skill can hand off, even without a workflow of ours; its chain continues from the payload that it received."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.handoffs import handoffs_folder, ours, payload_of, send, session, target
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


def test_a_1_0_payload_is_received_in_the_version_that_the_target_declares() -> None:
    documents_skills()
    shutil.copy(PAYLOADS / "v1.yaml", "work.yaml")

    answer = told("handoff", "receive", "work.yaml", "--format", "json")

    assert answer["handoff"]["status"] == "acknowledged"
    assert answer["converted"]["version"] == answer["payload"]["version"] == "2.0"
    assert "meta.handoff_chain" in answer["converted"]["added"]
    assert flow("handoff", "check", answer["converted"]["file"]).status == 0
    assert answer["payload"]["insights"]["uncertainties"] == ["True cost of GDPR compliance"]


def test_a_workflow_gets_the_version_that_it_declares() -> None:
    ours("digger")
    sent = send("digger", session(), "--schema", "2.0")

    ran = flow(*sent["receive_command"].split()[1:], "--json")

    assert "flow: converted from 2.0 to 3.0: " in ran.err
    [line] = [line for line in ran.data["step"]["actions"] if "Read its payload first" in str(line)]
    path = str(line).partition("Read its payload first: ")[2].split("\n")[0].strip("'\" ,)")
    assert json.loads(Path(path).read_text())["handoff"]["version"] == "3.0"
    assert told("audit", "--verify")["findings"] == []


@pytest.mark.parametrize(
    ("categories", "version", "problem_type"),
    [
        ("[odd, implementation]", "3.0", "implementation"),
        ("[odd]", "2.0", "analytical"),
    ],
)
def test_each_skill_has_a_default_problem_type(categories: str, version: str, problem_type: str) -> None:
    target("source", categories=categories)
    target("digger", schema_version=f'"{version}"')

    sent = told("handoff", "send", "digger", "--from", "source", *PROMPT)

    assert payload_of(sent)["context"]["problem_type"] == problem_type


def test_2_0_keeps_the_files_as_references_and_lists_the_facts_that_it_has_no_field_for() -> None:
    target("source", categories="[odd]")
    target("digger", schema_version='"2.0"')
    for name in ("framing.md", "critic.md"):
        Path(name).write_text(name)

    sent = told(
        "handoff", "send", "digger", "--from", "source", *PROMPT, "-s", "framing_file=framing.md", "-s",
        'perspective_files=["critic.md", "gone.md"]', "-s", "budget=3", "-s", "task=other", "-s", 'focus_areas=["a"]',
    )  # fmt: skip

    files = payload_of(sent)["references"]["files"]
    assert [(Path(file["path"]).name, file["description"]) for file in files] == [
        ("framing.md", "framing file"),
        ("critic.md", "perspective files"),
    ]
    assert sent["lost"] == ["the fact `budget`", "the fact `task`", "context.focus_areas"]
    assert sent["notes"] == [f"not in a 2.0 payload: {', '.join(sent['lost'])}"]


def test_targets_print_the_command_of_a_skill_without_a_session() -> None:
    documents_skills()
    first = told("discover", "--from", "perspective-swarm", "--problem-type", "implementation")
    sent = told("handoff", "send", "lit-pm", "--from", "perspective-swarm", *PROMPT)
    received(sent)
    Path(sent["payload"]).unlink()  # the record has its content
    second = told("discover", "--from", "lit-pm")

    commands = {c["skill"]: c["command"] for c in first["candidates"]}
    assert commands["lit-pm"].replace("'", "") == (
        "flow handoff send lit-pm --from perspective-swarm -s prompt=… -s problem_type=strategic"
    )
    assert "problem_type=implementation" in commands["programming-pm"]
    [printed] = [c["command"] for c in second["candidates"] if c["skill"] == "programming-pm"]
    assert told(*printed.split()[1:])["chain"] == ["perspective-swarm", "lit-pm"]


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
