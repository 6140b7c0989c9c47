"""Work is handed over phase by phase: each committed, each guard real, each refusal with all its reasons."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.counting import calls_of
from support.handing import handoffs_folder, ours, payload_of, phases, receive, send, session, target
from support.killing import killed_at_every_call
from support.sandbox import (
    flow,
    home_skills,
    process,
    project_skills,
    put_skill,
    refused,
    sessions_folder,
    told,
)

from flowrail.cli.desk import desk
from flowrail.handoff.payload import build
from flowrail.handoff.sending import _expired
from flowrail.text import yaml as yaml_text


def test_work_passes_through_every_phase() -> None:
    target("digger")
    here = session()

    sent = send("digger", here, "--reason", "it needs depth")

    assert sent["phase"] == "invocation"
    assert phases(sent["handoff"]) == ["discovery", "selection", "validation", "transfer", "invocation"]
    assert sent["invocation"] == f"/digger {sent['payload']}"
    assert [each["name"] for each in sent["checks"] if not each["holds"]] == []
    assert sent["chain"] == ["source", "digger"]
    assert (sent["hops"], sent["schema"], sent["reason"]) == (1, "3.0", "it needs depth")
    assert told("history", here)["steps"][-1]["note"] == {
        "handoff": sent["handoff"],
        "target": "digger",
        "payload": sent["payload"],
        "sha256": sent["sha256"],
    }
    assert told("status", here)["revision"] == 0


def test_a_payload_is_written_once_and_for_its_owner_only() -> None:
    target("digger")
    here = session("source", "-s", "synthesis_summary=We dig")

    sent = send("digger", here)

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
    assert flow("handoff", "validate", sent["payload"], "--sha256", sent["sha256"]).status == 0


def test_the_same_again_is_answered_again() -> None:
    target("digger")
    here = session()
    first = send("digger", here)

    again = send("digger", here)
    other = send("digger", here, "--reason", "another one")

    assert again == {**first, "replayed": True}
    assert other["handoff"] != first["handoff"]
    assert len(told("handoff", "status")["handoffs"]) == 2


def test_files_that_facts_name_go_as_artifacts_and_other_facts_beside() -> None:
    target("digger")
    Path("notes.md").write_text("noted")
    here = session("source", "-s", "notes_file=notes.md", "-s", 'areas=["a","b"]')

    handoff = payload_of(send("digger", here, "-s", "mood=good", "-s", "gone_file=nowhere.md"))

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


def test_a_file_that_facts_name_often_is_read_once_and_so_much_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target("digger")
    for name in ("notes.md", "other.md", "last.md"):
        Path(name).write_text("noted")
    os.mkfifo("pipe.md")
    Path("link.md").symlink_to("notes.md")
    Path("large.md").write_text("noted, and noted")
    monkeypatch.setattr(build, "_MOST_SUMMED", 12)
    monkeypatch.setattr(build, "_LARGEST_ARTIFACT", 12)
    names = ["notes.md", "other.md", "last.md", "notes.md", "pipe.md", "link.md", "large.md", "\0", "."]
    Path("facts.json").write_text(json.dumps({"notes_files": names}))
    here = session()

    sent: list[dict[str, Any]] = []
    read = calls_of(lambda: sent.append(send("digger", here, "--facts", "facts.json")), "_read_file")

    artifacts = payload_of(sent[0])["payload"]["session"]["artifacts"]
    summed = f"sha256:{sha256(b'noted').hexdigest()}"
    assert read == 8
    assert [(each["name"], each.get("checksum")) for each in artifacts] == [
        ("notes.md", summed),
        ("other.md", summed),
        ("last.md", None),
        ("notes.md", summed),
    ]


def test_an_older_target_is_given_version_2() -> None:
    target("digger", schema_version='"2.0"', handoff_trigger='"--handoff {payload_path}"')
    here = session()

    sent = send("digger", here)

    assert sent["schema"] == "2.0"
    assert Path(sent["payload"]).name == f"{sent['sha256']}.yaml"
    newest = sessions_folder() / here / "handoff-payload.yaml"
    assert newest.read_bytes() == Path(sent["payload"]).read_bytes()
    handoff = payload_of(sent)
    assert handoff["meta"]["handoff_chain"] == ["source"]
    assert sent["expires_at"] == handoff["expires_at"]
    assert sent["invocation"] == f"/digger --handoff {sent['payload']}"
    assert flow("handoff", "validate", sent["payload"]).status == 0


def test_version_and_form_can_be_chosen() -> None:
    target("digger")
    here = session()

    older = send("digger", here, "--schema", "2.0", "--format", "json")
    newer = send("digger", here, "--format", "yaml")

    assert older["payload"].endswith(".json")
    assert older["notes"] == ["2.0 to 3.0: yes, upgraded on the way"]
    assert newer["payload"].endswith(".yaml")
    assert {payload_of(each)["version"] for each in (older, newer)} == {"2.0", "3.0"}


def test_a_downgrade_is_told() -> None:
    target("digger", schema_version='"2.0"')

    sent = send("digger", session(), "--schema", "3.0")

    assert sent["notes"] == ["3.0 to 2.0: partial, downgrade: tracing and tiered context are lost"]


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"schema_version": '"1.2"'}, "VALIDATION_FAILED", "2.0 to 1.2: no"),
        (
            {"accepts_from": "[other]"},
            "VALIDATION_FAILED",
            "`digger` accepts from other, the source is `source`",
        ),
    ],
)
def test_what_cannot_be_mended_is_rejected(more: dict[str, Any], code: str, words: str) -> None:
    target("digger", **more)

    status, error = refused("handoff", "send", "digger", "--session", session())

    assert (status, error["code"], error["recoverable"]) == (6, code, False)
    assert words in error["message"]
    [handoff] = told("handoff", "status", "--all")["handoffs"]
    assert handoff["phase"] == "rejected"
    status, error = refused("handoff", "retry", handoff["handoff"])
    assert (status, error["code"]) == (6, "HANDOFF_CLOSED")


def test_what_the_target_requires_must_be_in_the_payload() -> None:
    target(
        "digger", requires="[context.original_prompt, insights.uncertainties, handoff.context.problem_type]"
    )
    here = session()

    status, error = refused("handoff", "send", "digger", "--session", here)

    assert (status, error["code"], error["recoverable"]) == (6, "INVALID_PAYLOAD", True)
    assert error["details"]["missing_fields"] == ["insights.uncertainties"]
    assert Path(error["payload_preserved"]).exists()
    document = yaml_text.load(
        (handoffs_folder() / error["details"]["handoff"] / "error.yaml").read_bytes(), source="e"
    )
    assert isinstance(document.value, dict)
    assert document.value["error"]["code"] == "INVALID_PAYLOAD"
    facts = Path("facts.json")
    facts.write_text('{"key_uncertainties": ["what it costs"]}')
    again = error["hint"].partition("flow ")[2].split()
    status, unmeant = refused(*again)
    assert (status, unmeant["message"]) == (2, "`-s uncertainties=…` gives no value")

    sent = told(*again[:-2], "--facts", "facts.json")

    assert sent["phase"] == "invocation"
    assert phases(sent["handoff"])[-5:] == ["validation", "failed", "retry", "transfer", "invocation"]
    assert payload_of(sent)["payload"]["working"]["insights"]["uncertainties"] == ["what it costs"]


def test_everything_that_stands_in_the_way_is_told_at_once() -> None:
    target("digger", requires="[insights.uncertainties]", accepts_from="[other]")
    text = "name: NAME\nsteps: [{id: a, title: A, actions: [a], next: {ok: null}}]\n"
    put_skill("bare", text, where=home_skills())
    here = told("start", "bare")["session"]

    status, error = refused("handoff", "send", "digger", "--session", here)

    assert status == 6
    for words in (
        "accepts from other",
        "`handoff.context.problem_type` is missing",
        "`handoff.context.summary`",
        "requires",
    ):
        assert words in error["message"]


def test_a_target_that_is_not_there_is_refused_before_anything_is_written() -> None:
    target("digger")
    here = session()

    status, error = refused("handoff", "send", "diger", "--session", here)

    assert (status, error["code"], error["details"]["target_skill"]) == (6, "TARGET_NOT_FOUND", "diger")
    assert "did you mean `digger`" in error["hint"]
    assert not handoffs_folder().exists()


def test_a_name_that_two_skills_go_by_is_refused() -> None:
    for folder in ("one", "two"):
        (home_skills() / folder).mkdir(parents=True)
        text = target("label", where=home_skills() / "x").read_text()
        (home_skills() / folder / "SKILL.md").write_text(text)

    status, error = refused("handoff", "send", "label", "--session", session())

    assert (status, error["code"], error["details"]["skills"]) == (6, "TARGET_NOT_FOUND", ["one", "two"])


def test_a_skill_does_not_hand_to_itself() -> None:
    here = session()

    status, error = refused("handoff", "send", "source", "--session", here, "--yes", "--reason", "x")

    assert (status, error["code"], error["details"]["rule"]) == (6, "VALIDATION_FAILED", "SELF")
    assert not handoffs_folder().exists()


def passed_on(here: str, name: str, *words: str) -> tuple[dict[str, Any], str]:
    sent = send(name, here, *words)
    ran = receive(sent)
    assert ran.status == 0, ran
    return sent, ran.data["session"]


def test_a_circle_is_refused_and_with_a_reason_recorded() -> None:
    for name in "abc":
        ours(name)
    here = session("a")
    first, here = passed_on(here, "b")
    second, here = passed_on(here, "c")
    count = len(list(handoffs_folder().iterdir()))

    for words in ([], ["--yes"], ["--reason", "again"]):
        status, error = refused("handoff", "send", "a", "--session", here, *words)
        assert (status, error["code"], error["details"]["rule"]) == (6, "VALIDATION_FAILED", "LOOP")
        assert error["details"]["chain"] == ["a", "b", "c", "a"]
        assert "a → b → c → a" in error["message"]
    assert len(list(handoffs_folder().iterdir())) == count

    third = send("a", here, "--yes", "--reason", "the user wants another round")
    assert third["notes"] == ["the work goes round: a → b → c → a (the user wants another round)"]
    assert payload_of(third)["meta"]["handoff_chain"] == ["a", "b", "c"]
    assert [each["hops"] for each in (first, second, third)] == [1, 2, 3]
    assert len({each["trace_id"] for each in (first, second, third)}) == 1
    assert [each["parent_span_id"] for each in (first, second, third)] == [
        None,
        first["span_id"],
        second["span_id"],
    ]


def test_a_long_chain_needs_the_user_and_the_longest_ends() -> None:
    names = [f"s{number}" for number in range(11)]
    for name in names:
        ours(name)
    here = session(names[0])
    for name in names[1:6]:
        _, here = passed_on(here, name)

    status, error = refused("handoff", "send", "s6", "--session", here)
    assert (status, error["details"]["rule"]) == (6, "NOT_APPROVED")
    for name in names[6:9]:
        sent, here = passed_on(here, name, "--approved")
    assert payload_of(sent)["meta"]["user_approved"] is True
    status, error = refused(
        "handoff", "send", "s9", "--session", here, "--approved", "--yes", "--reason", "x"
    )
    assert (status, error["details"]["rule"], error["recoverable"]) == (6, "TOO_MANY_HOPS", False)


def test_a_target_that_changes_under_the_handoff_is_found_out() -> None:
    card = target("digger", requires="[insights.uncertainties]")
    _, error = refused("handoff", "send", "digger", "--session", session())
    handoff = error["details"]["handoff"]
    card.write_text(card.read_text().replace("requires", "optional_consumes"))

    sent = told("handoff", "retry", handoff)

    assert sent["phase"] == "invocation"


def test_the_same_again_after_a_failure_tries_the_same_handoff_again() -> None:
    card = target("digger", requires="[insights.uncertainties]")
    here = session()
    _, first = refused("handoff", "send", "digger", "--session", here)

    _, second = refused("handoff", "send", "digger", "--session", here)
    card.write_text(card.read_text().replace("requires", "optional_consumes"))
    sent = send("digger", here)

    assert first["details"]["handoff"] == second["details"]["handoff"] == sent["handoff"]
    assert (sent["phase"], sent["attempts"]) == ("invocation", 2)
    assert phases(sent["handoff"])[3:7] == ["failed", "retry", "failed", "retry"]


@pytest.mark.parametrize(
    ("requires", "facts"),
    [
        ("[insights.uncertainties]", " -s uncertainties=…"),
        ("[context.area, context.reframed_challenge]", " -s area=… -s reframed_challenge=…"),
    ],
)
def test_what_is_wanting_is_named_as_the_facts_that_would_give_it(requires: str, facts: str) -> None:
    target("digger", requires=requires)

    _, error = refused("handoff", "send", "digger", "--session", session())

    handoff = error["details"]["handoff"]
    assert error["hint"] == f"give what is wanting: flow handoff retry {handoff}{facts}"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("what it costs", ["what it costs"]),
        ("[x] open", ["[x] open"]),
        ("{}", ["{}"]),
    ],
)
def test_a_list_that_is_wanting_can_be_given_on_the_command_line(given: str, meant: list[str]) -> None:
    target("digger", requires="[insights.uncertainties]")
    _, error = refused("handoff", "send", "digger", "--session", session())

    sent = told("handoff", "retry", error["details"]["handoff"], "-s", f"uncertainties={given}")

    assert payload_of(sent)["payload"]["working"]["insights"]["uncertainties"] == meant


def test_what_is_wrong_in_the_metadata_is_given_anew_on_the_command_line() -> None:
    target("digger", schema_version='"2.0"')
    words = ["-s", "perspectives_completed=five", "-s", "convergence_level=some"]
    _, error = refused("handoff", "send", "digger", "--session", session(), *words)

    handoff = error["details"]["handoff"]
    again = f"flow handoff retry {handoff} -s perspectives_completed=… -s convergence_level=…"
    assert error["hint"] == f"give what is wanting: {again}"
    meant = [word.replace("=…", "=5" if "perspectives" in word else "=low") for word in again.split()[1:]]

    assert payload_of(told(*meant))["meta"]["perspectives_completed"] == 5


def test_a_fact_that_no_field_knows_meets_what_the_target_requires() -> None:
    target("digger", requires="[context.area, mood]")

    assert send("digger", session(), "-s", "area=north", "-s", "mood=good")["phase"] == "invocation"


def test_a_problem_type_that_nobody_knows_is_asked_for_again() -> None:
    target("digger")

    _, error = refused("handoff", "send", "digger", "--session", session(), "-s", "problem_type=odd")

    assert error["hint"].endswith(" -s problem_type=…")
    assert "`decision`, `creative`" in error["message"]
    sent = told("handoff", "retry", error["details"]["handoff"], "-s", "problem_type=creative")
    assert payload_of(sent)["context"]["problem_type"] == "creative"


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_the_path_of_the_chosen_file_travels_in_the_payload(version: str) -> None:
    card = target("digger")

    payload = payload_of(send("digger", session(), "--schema", version))

    place = payload["target"]["path"] if version == "2.0" else payload["payload"]["working"]["target_path"]
    assert place == str(card)


def test_a_target_in_a_place_that_was_named_is_named_with_it_in_every_command() -> None:
    place = Path.cwd() / "more"
    ours("digger", where=place)
    here = session()
    [offered] = [
        each
        for each in told("handoff", "targets", "--session", here, "--root", "more")["candidates"]
        if each["skill"] == "digger"
    ]
    assert offered["command"] == f"flow handoff send digger --session {here} --root {place}"
    _, error = refused(*offered["command"].split()[1:], "-s", "problem_type=odd")
    retry = error["hint"].removeprefix("give what is wanting: ").removesuffix(" -s problem_type=…")
    sent = told(*retry.split()[1:], "-s", "problem_type=creative")
    assert sent["receive_command"].endswith(f" --root {place}")

    lost = flow(*sent["receive_command"].removesuffix(f" --root {place}").split()[1:], "--json")
    assert (lost.status, lost.error["code"]) == (6, "TARGET_NOT_FOUND")
    assert lost.error["hint"] == f"name its place: {sent['receive_command']}"
    assert told("handoff", "status", sent["handoff"])["phase"] == "invocation"

    assert receive(sent).data["skill"] == "digger"


def test_a_payload_that_expired_before_it_was_written_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    target("digger", schema_version='"2.0"')
    here = session()
    kept = Path.cwd() / "kept"
    shutil.copytree(Path.cwd() / ".flow", kept)
    for _ in killed_at_every_call(["handoff", "send", "digger", "--session", here]):
        found = told("handoff", "status")["handoffs"]
        if found and found[0]["phase"] == "transfer":
            break
        shutil.rmtree(Path.cwd() / ".flow")
        shutil.copytree(kept, Path.cwd() / ".flow")
    later = time.time() + 3600 + 301
    monkeypatch.setattr("time.time", lambda: later)

    status, error = refused("handoff", "send", "digger", "--session", here)

    assert (status, error["code"], error["recoverable"]) == (6, "VALIDATION_FAILED", True)
    assert "expired before it was written" in error["message"]
    sent = send("digger", here)
    assert (sent["phase"], sent["expired"]) == ("invocation", False)


def test_a_target_that_goes_away_while_a_sender_is_dead_is_told_by_the_next_one() -> None:
    card = target("digger")
    here = session()
    kept = Path.cwd() / "kept"
    shutil.copytree(Path.cwd() / ".flow", kept)
    for _ in killed_at_every_call(["handoff", "send", "digger", "--session", here]):
        found = told("handoff", "status")["handoffs"]
        if found and found[0]["phase"] == "selection":
            break
        shutil.rmtree(Path.cwd() / ".flow")
        shutil.copytree(kept, Path.cwd() / ".flow")
    card.unlink()

    status, error = refused("handoff", "retry", told("handoff", "status")["handoffs"][0]["handoff"])

    assert (status, error["code"], error["recoverable"]) == (6, "TARGET_NOT_FOUND", True)
    assert told("handoff", "status")["handoffs"][0]["phase"] == "failed"


def test_one_that_was_received_just_before_it_expired_is_not_called_expired() -> None:
    ours("digger")
    sent = send("digger", session())
    receive(sent)
    at, _ = desk(store=None)

    assert _expired(at, sent["handoff"]).phase == "acknowledgment"


def test_one_that_nobody_received_in_time_is_over_when_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target("digger", schema_version='"2.0"')
    here = session()
    sent = send("digger", here)
    later = time.time() + 3600 + 301
    monkeypatch.setattr("time.time", lambda: later)

    status, error = refused("handoff", "retry", sent["handoff"])

    assert (status, error["code"]) == (6, "HANDOFF_CLOSED")
    assert error["hint"] == f"send it again: flow handoff send digger --session {here}"
    assert phases(sent["handoff"])[-1] == "expired"
    assert refused("handoff", "retry", sent["handoff"])[1]["code"] == "HANDOFF_CLOSED"


def test_a_target_that_goes_away_is_told_when_it_is_tried_again() -> None:
    card = target("digger", requires="[insights.uncertainties]")
    _, error = refused("handoff", "send", "digger", "--session", session())
    card.unlink()

    status, again = refused("handoff", "retry", error["details"]["handoff"])

    assert (status, again["code"]) == (6, "TARGET_NOT_FOUND")


def test_too_many_tokens_are_refused_with_what_to_move() -> None:
    target("digger")

    status, error = refused(
        "handoff", "send", "digger", "--session", session(), "-s", f"evidence={'x' * 9000}"
    )

    assert status == 6
    assert error["message"].endswith("move to a file: `payload.working.facts.evidence` (2251)")
    handoff = error["details"]["handoff"]
    again = f"flow handoff retry {handoff} -s evidence= -s evidence_file=…"
    assert error["hint"] == f"write it into a file and name that: {again}"

    Path("evidence.txt").write_text("x" * 9000)
    sent = told(*again.removeprefix("flow ").replace("…", "evidence.txt").split())

    assert [each["name"] for each in payload_of(sent)["payload"]["session"]["artifacts"]] == ["evidence.txt"]


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_what_cannot_be_written_as_a_payload_is_refused(version: str) -> None:
    target("digger", schema_version=f'"{version}"')
    facts = Path("facts.json")
    facts.write_text('{"synthesis_summary": "half \\ud800 a character"}')

    status, error = refused("handoff", "send", "digger", "--session", session(), "--facts", "facts.json")

    assert (status, error["code"]) == (6, "INVALID_PAYLOAD")
    assert told("handoff", "status")["handoffs"][0]["phase"] == "failed"


@pytest.mark.parametrize(
    "facts",
    [
        {"numbers": [0] * 30_000},
        {"uncertainties": [0] * 30_000},
    ],
)
def test_facts_of_too_many_values_are_refused_before_a_payload_is_made(facts: dict[str, object]) -> None:
    target("digger")
    here = session()
    Path("facts.json").write_text(json.dumps(facts))
    words = ("handoff", "send", "digger", "--session", here, "--facts", "facts.json")

    flow(*words)
    handoff = told("handoff", "status")["handoffs"][0]["handoff"]
    status, error = refused("handoff", "retry", handoff)
    sent = told("handoff", "retry", handoff, *(word for name in facts for word in ("-s", f"{name}=few")))

    assert phases(handoff)[:3] == ["discovery", "selection", "failed"]
    assert (status, error["code"]) == (6, "INVALID_PAYLOAD")
    assert error["message"] == "the payload for digger: a fact holds more than 20000 values"
    assert sent["phase"] == "invocation"


def test_facts_that_do_not_travel_may_be_as_many_as_they_are() -> None:
    target("digger", schema_version='"2.0"')
    Path("facts.json").write_text(json.dumps({"numbers": [0] * 30_000}))

    sent = send(
        "digger", session(), "--facts", "facts.json", "-s", "synthesis_summary=We dig", "-s", "prompt=Dig"
    )

    assert sent["phase"] == "invocation"


def test_a_handoff_can_be_called_off() -> None:
    target("digger")
    sent = send("digger", session(), "-s", "area=north", "-s", f"long={'x' * 81}")

    cancelled = told("handoff", "cancel", sent["handoff"], "--reason", "the user said so")

    assert cancelled["phase"] == "rejected"
    status, error = refused(*sent["receive_command"].split()[1:])
    assert (status, error["code"]) == (6, "HANDOFF_CLOSED")
    assert refused("handoff", "cancel", sent["handoff"])[1]["code"] == "HANDOFF_CLOSED"
    assert "  called off: the user said so\n" in flow("audit", sent["handoff"]).out
    assert flow("audit", "--html", "a.html").status == 0
    assert "the user said so" in Path("a.html").read_text()
    anew = refused("handoff", "retry", sent["handoff"])[1]["hint"].partition("flow ")[2].split()
    assert anew[4:] == [sent["session"], "-s", "area=north"]
    assert told(*anew)["phase"] == "invocation"


def test_a_workflow_of_ours_is_received_by_a_command() -> None:
    ours("digger")

    sent = send("digger", session())

    assert sent["ours"]
    assert sent["invocation"] == sent["receive_command"]
    assert sent["invocation"].endswith(f"--sha256 {sent['sha256']}")


def test_the_one_open_session_need_not_be_named() -> None:
    target("digger")
    here = session()

    assert told("handoff", "send", "digger")["session"] == here


def test_where_none_or_several_are_open_it_is_said_how_to_name_one() -> None:
    target("digger")
    assert refused("handoff", "send", "digger")[1]["code"] == "NO_OPEN_SESSION"
    first = session()
    told("session", "abandon", first)
    over = refused("handoff", "send", "digger")[1]
    second, third = session(), session()

    status, several = refused("handoff", "send", "digger")

    assert over["hint"] == f"name one that is over: flow handoff send digger --session {first}"
    assert (status, several["code"]) == (4, "SEVERAL_OPEN")
    assert set(several["details"]["commands"]) == {
        f"flow handoff send digger --session {each}" for each in (second, third)
    }
    words = ["-s", "area=far north", "--reason", "it's deep", "--schema", "2.0", "--yes"]
    again = refused("handoff", "send", "digger", *words)[1]["details"]["commands"][0]
    sent = told(*shlex.split(again)[1:])
    assert (sent["reason"], sent["schema"]) == ("it's deep", "2.0")
    long = refused("handoff", "send", "digger", "-s", "area=far\nnorth", "--reason", "it\nis")[1]
    assert long["details"]["commands"][0].endswith(" -s 'area=…' --reason 'it is'")


def test_targets_are_ranked_by_what_the_session_reported() -> None:
    target("digger")
    target("builder", categories="[implementation]")
    here = session("source", "-s", "synthesis_summary=Build the thing")

    found = told("handoff", "targets", "--session", here)["candidates"]

    by_skill = {each["skill"]: each for each in found}
    assert by_skill["digger"]["score"] > by_skill["builder"]["score"] > 0
    assert by_skill["digger"]["command"] == f"flow handoff send digger --session {here}"
    assert "source" not in by_skill
    assert "solution-design" in by_skill
    assert (sessions_folder() / here / "available-workflows.yaml").exists()
    text = flow("handoff", "targets", "--session", here).out
    assert "Hand over, with `--reason WHY`" in text
    assert told("handoff", "targets", "--problem-type", "strategic", "--from", "x")["scorer"] == "relevance"
    assert "digger" in flow("handoff", "targets").out
    other = told("handoff", "targets", "--session", here, "--problem-type", "Creative")["candidates"]
    command = next(each["command"] for each in other if each["skill"] == "digger")
    assert command == f"flow handoff send digger --session {here} -s problem_type=creative"


def test_a_session_without_a_problem_type_is_said_to_lack_it_and_the_command_gives_it() -> None:
    target("digger")
    ours("bare", "name: NAME\nsteps: [{id: a, title: A, actions: [a], next: {ok: null}}]\n")
    here = session("bare")

    assert "give it by --problem-type" in flow("handoff", "targets", "--session", here).err
    ran = flow("handoff", "targets", "--session", here, "--problem-type", "decision")

    assert not ran.err
    [command] = [
        each.strip() for each in ran.out.splitlines() if each.startswith("  flow handoff send digger")
    ]
    assert (
        send(*command.split()[3:4], here, *command.split()[6:], "-s", "prompt=Why?")["phase"] == "invocation"
    )


def test_targets_say_who_had_the_work_before() -> None:
    for name in "ab":
        ours(name)
    _, here = passed_on(session("a"), "b")

    [found] = [
        each for each in told("handoff", "targets", "--session", here)["candidates"] if each["skill"] == "a"
    ]

    assert found["loop"] == "a → b → a"
    assert (
        "had this work before" in flow("handoff", "targets", "--session", here, "--category", "research").out
    )


def test_where_nothing_can_be_kept_for_the_session_targets_are_shown_all_the_same() -> None:
    target("digger")
    here = session()
    (sessions_folder() / here / "available-workflows.yaml").mkdir()

    ran = flow("handoff", "targets", "--session", here)

    assert ran.status == 0
    assert "not kept for the session" in ran.err


def test_status_tells_of_one_or_of_all() -> None:
    assert flow("handoff", "status").out.startswith("no handoff here")
    target("digger")
    sent = send("digger", session(), "--reason", "why")

    assert told("handoff", "status", sent["handoff"])["phase"] == "invocation"
    assert sent["handoff"] in flow("handoff", "status").out
    assert "reason   why" in flow("handoff", "status", sent["handoff"]).out
    assert refused("handoff", "status", "handoff-aaaaaa")[1]["code"] == "UNKNOWN_HANDOFF"
    assert refused("handoff", "status", "../x")[1]["code"] == "UNKNOWN_HANDOFF"


def test_a_failure_is_told_with_its_checks() -> None:
    target("digger", requires="[insights.uncertainties]")
    ran = flow("handoff", "send", "digger", "--session", session())

    assert ran.status == 6
    assert "[INVALID_PAYLOAD]" in ran.err
    handoff = told("handoff", "status")["handoffs"][0]["handoff"]
    text = flow("handoff", "status", handoff).out
    assert "checks   8 of 9 hold" in text
    assert "the payload is kept in" in text
    assert f"\n  give what is wanting: flow handoff retry {handoff} -s uncertainties=…\n" in text
    assert text.count("flow handoff retry") == 1


def test_two_senders_at_once_make_one_handoff() -> None:
    target("digger")
    here = session()

    both = [process("handoff", "send", "digger", "--session", here, "--json") for _ in range(2)]

    assert {each.data["handoff"] for each in both} == {told("handoff", "status")["handoffs"][0]["handoff"]}


def test_a_store_elsewhere_is_named_in_every_command() -> None:
    target("digger")
    here = told("start", "source", "--store", "kept") if session() else {}

    sent = told("handoff", "send", "digger", "--session", here["session"], "--store", "kept")

    assert sent["receive_command"].endswith(f"--store {Path.cwd() / 'kept'}")
    assert flow(*sent["receive_command"].split()[1:]).status == 0


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_project_that_was_moved_is_told_where_its_payload_lies_now(is_ours: bool) -> None:
    (ours if is_ours else target)("digger")
    sent = send("digger", session())
    Path(".flow").rename("it's moved")
    told("session", "adopt", sent["session"], "--store", "it's moved")
    payload = sent["payload"].replace("/.flow/", "/it's moved/")

    for words in ("status", "retry"):
        shown = told("handoff", words, sent["handoff"], "--store", "it's moved")
        assert shown["payload"] == payload
        assert payload in shlex.split(shown["invocation"])
        assert payload in shlex.split(shown["receive_command"])
    assert flow(*shlex.split(shown["receive_command"])[1:]).status == 0


def test_the_projects_skill_hides_the_one_at_home() -> None:
    target("digger")
    target("digger", where=project_skills(), schema_version='"2.0"')

    assert send("digger", session())["schema"] == "2.0"


def test_a_payload_in_whose_place_something_else_stands_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    target("digger", schema_version='"2.0"')
    here = session()
    monkeypatch.setattr("flowrail.handoff.payload.file.file_name", lambda *_, **__: "taken.yaml")
    folder = sessions_folder() / here / "handoffs"
    folder.mkdir(0o700)
    (folder / "taken.yaml").write_text("other")

    status, error = refused("handoff", "send", "digger", "--session", here)

    assert (status, error["code"]) == (3, "PAYLOAD_CHANGED")
    assert told("handoff", "status")["handoffs"][0]["phase"] == "failed"


def interrupted(here: str, phase: str) -> str:
    """Send to `digger`, killed while it stands at *phase*; return the handoff's id."""
    for _ in killed_at_every_call(["handoff", "send", "digger", "--session", here]):
        found = told("handoff", "status")["handoffs"]
        if found and found[0]["phase"] == phase:
            return str(found[0]["handoff"])
        shutil.rmtree(handoffs_folder(), ignore_errors=True)
    raise AssertionError(phase)


def test_guards_look_at_the_world_as_it_is_when_they_are_asked() -> None:
    card = target("digger")
    here = session()
    handoff = interrupted(here, "validation")
    text = card.read_text()
    card.write_text(text + "changed")

    status, error = refused("handoff", "retry", handoff)
    assert (status, error["code"]) == (6, "TARGET_NOT_FOUND")
    assert "is not what it was when it was chosen" in error["message"]
    assert told("handoff", "retry", handoff)["phase"] == "invocation"


def test_a_target_that_goes_away_meanwhile_is_told_by_every_guard_that_needs_it() -> None:
    card = target("digger")
    here = session()
    handoff = interrupted(here, "validation")
    card.unlink()

    status, error = refused("handoff", "retry", handoff)

    assert (status, error["code"]) == (6, "TARGET_NOT_FOUND")
    assert "is not found any more" in error["message"]
    assert told("handoff", "status", handoff)["phase"] == "failed"


def test_a_target_that_goes_away_before_it_is_selected_is_told() -> None:
    card = target("digger")
    here = session()
    handoff = interrupted(here, "discovery")
    card.unlink()

    assert refused("handoff", "retry", handoff)[1]["code"] == "TARGET_NOT_FOUND"
    assert told("handoff", "status", handoff)["phase"] == "failed"


def test_a_nearer_target_of_the_name_is_not_taken_for_the_one_that_was_chosen() -> None:
    target("digger")
    handoff = interrupted(session(), "validation")
    target("digger", where=project_skills())

    _, error = refused("handoff", "retry", handoff)

    assert "and is" in error["message"]


def test_a_target_that_lives_elsewhere_is_not_compared() -> None:
    registry = home_skills().parent / "handoff-registry.yaml"
    registry.parent.mkdir(parents=True, exist_ok=True)
    registry.write_text(
        'version: "1.0"\nworkflows:\n'
        '  - {name: far, description: Far away, handoff: {accepts_from: ["*"]}, categories: [research],'
        ' skill_path: "https://example.org/far"}\n'
    )

    sent = send("far", session())

    assert not sent["ours"]
    assert "lives elsewhere: not compared" in {each["told"] for each in sent["checks"]}


def test_what_was_sent_is_shown_as_text() -> None:
    target("digger")
    here = session()

    out = flow("handoff", "send", "digger", "--session", here).out
    handoff = told("handoff", "status")["handoffs"][0]["handoff"]

    assert out.splitlines()[-1].strip().startswith("/digger /")
    assert "The skill that takes over confirms it with:" in out
    assert "replayed" in flow("handoff", "retry", handoff).out
    assert flow("handoff", "cancel", handoff).out.splitlines()[0].endswith("rejected")
