"""Sending makes two records and one payload, and a refusal names all of its reasons."""

from __future__ import annotations

import os
import shlex
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.handoffs import handoffs_folder, ours, payload_of, phases, receive, send, session, target
from support.sandbox import flow, home_skills, refused, sessions_folder, told


def test_sending_has_two_records() -> None:
    target("digger")
    session_id = session()

    sent = send("digger", session_id, "--reason", "it needs depth")

    assert (sent["status"], sent["phase"]) == ("sent", "invocation")
    assert phases(sent["id"]) == ["prepared", "sent"]
    assert sent["invocation"] == f"/digger {sent['payload']}"
    assert [check["name"] for check in sent["checks"] if not check["holds"]] == []
    assert sent["chain"] == ["source"]
    assert (sent["hops"], sent["schema"], sent["request"]["reason"]) == (1, "3.0", "it needs depth")
    assert told("sessions", session_id)["revision"] == 0


def test_a_payload_is_written_once_and_for_its_owner_only() -> None:
    target("digger")
    session_id = session("source", "-s", "synthesis_summary=We dig")

    sent = send("digger", session_id)

    data = Path(sent["payload"]).read_bytes()
    assert sha256(data).hexdigest() == sent["sha256"]
    assert stat.S_IMODE(os.stat(sent["payload"]).st_mode) == 0o600
    assert Path(sent["payload"]).name.startswith("source-to-digger-20")
    handoff = payload_of(sent)
    assert handoff["context"] == {
        "summary": "We dig",
        "problem_type": "strategic",
        "original_prompt": "Should we expand into the European market?",
    }
    assert handoff["source"]["phase"] == "tell"
    assert handoff["target"] == {
        "skill": "digger",
        "invocation": "/digger {payload_path}",
        "category": "research",
    }
    assert handoff["tracing"]["parent_span_id"] == sent["span_id"]
    assert handoff["trace_id"] == sent["trace_id"]
    assert "expires_at" not in handoff
    assert flow("handoff", "check", sent["payload"]).status == 0


def test_files_become_artifacts_and_other_facts_stay_in_the_working_tier() -> None:
    target("digger")
    Path("notes.md").write_text("noted")
    session_id = session("source", "-s", "notes_file=notes.md", "-s", 'areas=["a","b"]')

    handoff = payload_of(send("digger", session_id, "-s", "mood=good", "-s", "gone_file=nowhere.md"))

    [artifact] = handoff["payload"]["session"]["artifacts"]
    assert artifact == {
        "name": "notes.md",
        "path": str(Path.cwd() / "notes.md"),
        "type": "documentation",
        "description": "notes file",
        "checksum": f"sha256:{sha256(b'noted').hexdigest()}",
    }
    assert handoff["payload"]["working"]["facts"] == {
        "areas": ["a", "b"],
        "mood": "good",
        "gone_file": "nowhere.md",
    }


def test_a_target_that_reads_2_0_gets_2_0() -> None:
    target("digger", schema_version='"2.0"', handoff_trigger='"--handoff {payload_path}"')
    session_id = session()

    sent = send("digger", session_id)

    assert sent["schema"] == "2.0"
    assert Path(sent["payload"]).name == f"{sent['sha256']}.yaml"
    newest = sessions_folder() / session_id / "handoff-payload.yaml"
    assert newest.read_bytes() == Path(sent["payload"]).read_bytes()
    handoff = payload_of(sent)
    assert handoff["meta"]["handoff_chain"] == ["source"]
    assert sent["expires_at"] == handoff["expires_at"]
    assert sent["invocation"] == f"/digger --handoff {sent['payload']}"
    assert flow("handoff", "check", sent["payload"]).status == 0


def test_what_the_target_requires_must_be_in_the_payload() -> None:
    target(
        "digger", requires="[context.original_prompt, insights.uncertainties, handoff.context.problem_type]"
    )
    session_id = session()

    status, error = refused("handoff", "send", "digger", "--session", session_id)

    assert (status, error["code"], error["recoverable"]) == (6, "INVALID_PAYLOAD", True)
    assert error["details"]["missing_fields"] == ["insights.uncertainties"]
    assert Path(error["payload_preserved"]).exists()
    facts = Path("facts.json")
    facts.write_text('{"key_uncertainties": ["what it costs"]}')
    again = shlex.split(error["hint"].partition("flow ")[2])
    status, unmeant = refused(*again)
    assert (status, unmeant["message"]) == (2, "`uncertainties=…` has no value")

    sent = told(*again[:-2], "--facts", "facts.json")

    assert phases(sent["id"]) == ["failed", "prepared", "sent"]
    assert payload_of(sent)["payload"]["working"]["insights"]["uncertainties"] == ["what it costs"]


def test_a_name_that_is_unknown_or_ambiguous_or_the_source_is_refused_before_anything_is_written() -> None:
    text = target("label", where=home_skills() / "x").read_text()
    for folder in ("one", "two"):
        (home_skills() / folder).mkdir(parents=True)
        (home_skills() / folder / "SKILL.md").write_text(text)
    session_id = session()

    _, unknown = refused("handoff", "send", "ones", "--session", session_id)
    _, ambiguous = refused("handoff", "send", "label", "--session", session_id)
    status, itself = refused("handoff", "send", "source", "--session", session_id, "--yes", "--reason", "x")

    assert (unknown["code"], unknown["details"]["target_skill"]) == ("TARGET_NOT_FOUND", "ones")
    assert "did you mean `one`" in unknown["hint"]
    assert (ambiguous["code"], ambiguous["details"]["skills"]) == ("TARGET_NOT_FOUND", ["one", "two"])
    assert (status, itself["code"], itself["details"]["rule"]) == (6, "VALIDATION_FAILED", "SELF")
    assert not handoffs_folder().exists()


def passed_on(session_id: str, name: str, *words: str) -> tuple[dict[str, Any], str]:
    sent = send(name, session_id, *words)
    ran = receive(sent)
    assert ran.status == 0, ran
    return sent, ran.data["step"]["session"]


def test_a_loop_needs_consent_and_a_reason() -> None:
    for name in "abc":
        ours(name)
    session_id = session("a")
    first, session_id = passed_on(session_id, "b")
    second, session_id = passed_on(session_id, "c")
    count = len(list(handoffs_folder().iterdir()))

    for words in ([], ["--yes"], ["--reason", "again"]):
        status, error = refused("handoff", "send", "a", "--session", session_id, *words)
        assert (status, error["code"], error["details"]["rule"]) == (6, "VALIDATION_FAILED", "LOOP")
        assert error["details"]["chain"] == ["a", "b", "c", "a"]
        assert error["message"] == (
            "a already appears in the handoff chain for this session.\n"
            "Continuing may create a circular workflow.\nChain: a -> b -> c -> a"
        )
    assert len(list(handoffs_folder().iterdir())) == count

    third = send("a", session_id, "--yes", "--reason", "the user wants another round")
    assert third["notes"] == ["this is a loop: a → b → c → a (the user wants another round)"]
    assert payload_of(third)["meta"]["handoff_chain"] == ["a", "b", "c"]
    assert [sent["hops"] for sent in (first, second, third)] == [1, 2, 3]
    offers = told("discover", "--session", session_id)["candidates"]
    again = next(offer for offer in offers if offer["skill"] == "a")
    assert again["command"] is None
    assert "Chain: a -> b -> c -> a" in again["refused"]
    assert len({sent["trace_id"] for sent in (first, second, third)}) == 1
    assert [sent["parent_span"] for sent in (first, second, third)] == [
        "",
        first["span_id"],
        second["span_id"],
    ]


def test_a_long_chain_needs_approval_and_eight_hops_are_the_limit() -> None:
    names = [f"s{number}" for number in range(11)]
    for name in names:
        ours(name)
    session_id = session(names[0])
    for name in names[1:6]:
        _, session_id = passed_on(session_id, name)

    status, error = refused("handoff", "send", "s6", "--session", session_id)
    assert (status, error["details"]["rule"]) == (6, "NOT_APPROVED")
    for name in names[6:9]:
        sent, session_id = passed_on(session_id, name, "--approved")
    assert payload_of(sent)["meta"]["user_approved"] is True
    status, error = refused(
        "handoff", "send", "s9", "--session", session_id, "--approved", "--yes", "--reason", "x"
    )
    assert (status, error["details"]["rule"], error["recoverable"]) == (6, "TOO_MANY_HOPS", False)


def test_a_payload_with_too_many_tokens_is_refused() -> None:
    target("digger")

    session_id = session()
    status, error = refused(
        "handoff", "send", "digger", "--session", session_id, "-s", f"evidence={'x' * 9000}"
    )

    assert status == 6
    assert "`payload.working.facts.evidence` (2251)" in error["message"]
    again = f"flow handoff send digger --session {session_id} -s evidence= -s evidence_file=…"
    assert error["hint"].replace("'", "") == f"write it to a file and name the file: {again}"

    Path("evidence.txt").write_text("x" * 9000)
    sent = told(*again.removeprefix("flow ").replace("…", "evidence.txt").split())

    assert [artifact["name"] for artifact in payload_of(sent)["payload"]["session"]["artifacts"]] == [
        "evidence.txt"
    ]


def test_a_handoff_can_be_cancelled() -> None:
    target("digger")
    sent = send("digger", session(), "-s", "area=north")

    cancelled = told("handoff", "cancel", sent["id"], "--reason", "the user said so")

    assert (cancelled["status"], cancelled["phase"]) == ("cancelled", "rejected")
    status, error = refused(*sent["receive_command"].split()[1:])
    assert (status, error["code"]) == (6, "HANDOFF_CLOSED")
    assert error["message"] == f"handoff `{sent['id']}` was cancelled: the user said so"
    assert refused("handoff", "cancel", sent["id"])[1]["code"] == "HANDOFF_CLOSED"
    for words in (["audit"], ["handoff", "status"]):
        assert "cancelled the user said so\n" in flow(*words, sent["id"]).out
    assert flow("handoff", "status").out.startswith("no open handoffs; `flow handoff status --all` lists")
    assert send("digger", sent["session"], "-s", "area=north")["id"] != sent["id"]
