"""A person's decision is a person's: an agent that tries everything is refused, or its way is in the threat model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.hooks import A, B, claude_code, conversation, hook, within
from support.sandbox import flow, process, project_skills, put_skill, refused, sessions_folder, told
from support.terminal import at_a_terminal

RELEASE = """\
name: NAME
description: Publish a release that a person allows.
params: {version: {type: string, default: 1.4.0}}
steps:
  - id: ask
    title: Ask
    actions: [Show the changes.]
    limit: 2
    questions:
      - id: ship
        header: Publish
        text: "Publish $version to production?"
        person: true
        options:
          - {label: "Yes", outcome: ok, description: "Everybody gets it"}
          - {label: "No", outcome: fail, description: "Nothing is published"}
    next: {ok: publish, fail: null}
  - id: publish
    title: Publish
    actions: [Publish it.]
    evidence: {ok: [{id: read, person: "The rollback plan of $version was read"}]}
    next: {ok: null}
"""
ALONE = "import os; os.setsid()"
"""Python that gives up the terminal."""


@pytest.fixture
def session() -> str:
    put_skill("release", RELEASE)
    return str(within(A, "step", "release", "--new")["session"])


def at_evidence(session: str) -> str:
    """Return the session at its second step, which needs a person's word."""
    assert at_a_terminal(["answer", session, "ship=Yes"], "yes")[1] == 0
    within(A, "step", "release", "done", "--session", session)
    return session


def is_undecided(session: str) -> bool:
    """Return whether nobody has answered or confirmed anything."""
    told_session = told("sessions", session)
    return not {"answer", "approve", "waive"} & {record["kind"] for record in told_session["history"]}


# --- the ways of an agent


def answers(session: str) -> None:
    with conversation(A):
        status, error = refused("answer", session, "ship=Yes")
    assert (status, error["code"]) == (4, "PERSON_NEEDED")
    assert error["hint"].endswith(f"in a terminal of their own: flow answer {session} ship=Yes")


def answers_in_other_words(session: str) -> None:
    with conversation(A):
        assert refused("answer", session, "ship=other:of course")[0] == 4


def answers_as_another_conversation(session: str) -> None:
    with conversation(B):
        assert refused("answer", session, "ship=Yes", "--take-over")[1]["code"] == "PERSON_NEEDED"


def answers_without_a_conversation(session: str) -> None:
    ran = process("answer", session, "ship=Yes", stdin="yes\n", before=ALONE)
    assert (ran.status, "[PERSON_NEEDED]" in ran.err) == (4, True), ran


def answers_by_an_empty_conversation(session: str) -> None:
    environ = {"CLAUDE_CODE_SESSION_ID": "", "FLOW_HOST_SESSION": " "}
    assert process("answer", session, "ship=Yes", stdin="yes\n", env=environ, before=ALONE).status == 4


def answers_from_python(session: str) -> None:
    code = f"""\
import flowrail
store = flowrail.open_store(".flow")
print(store.answer(store.resume({session!r}), {{"ship": "Yes"}}))
"""
    ran = process("--version", before=f"import os; os.setsid()\n{code}")
    assert "only a person can answer `ship`" in ran.err, ran


def reports_the_outcome(session: str) -> None:
    with conversation(A):
        for outcome in ("ok", "done"):
            assert refused("step", "release", outcome, "--session", session)[0] == 4


def edits_the_journal(session: str) -> None:
    journal = sessions_folder() / session / "journal.jsonl"
    before = journal.read_bytes()
    journal.write_bytes(
        before.replace(b'"answer":null', b'"answer":["Yes"]').replace(b'"waiting"', b'"active"')
    )
    with conversation(A):
        assert refused("step", "release", "done", "--session", session)[0] in {3, 7}
    journal.write_bytes(before)


def weakens_the_skill(session: str) -> None:
    file = project_skills() / "release" / "workflow.yaml"
    file.write_text(file.read_text().replace("        person: true\n", ""))
    with conversation(A):
        assert refused("answer", session, "ship=Yes")[0] == 4


WAYS: tuple[Callable[[str], None], ...] = (
    answers,
    answers_in_other_words,
    answers_as_another_conversation,
    answers_without_a_conversation,
    answers_by_an_empty_conversation,
    answers_from_python,
    reports_the_outcome,
    edits_the_journal,
    weakens_the_skill,
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_an_agent_cannot_answer_a_persons_question(session: str, way: Callable[[str], None]) -> None:
    way(session)

    assert is_undecided(session)
    assert told("sessions", session)["status"] == "waiting"


@pytest.mark.parametrize("environ", [{"CLAUDE_CODE_SESSION_ID": A}, {"CLAUDE_CODE_SESSION_ID": B}, {}])
def test_an_agent_cannot_confirm_or_waive_evidence(session: str, environ: dict[str, str]) -> None:
    at_evidence(session)

    for words in (["approve", "read"], ["waive", "read", "--reason", "the user said so"]):
        ran = process(*words, "--session", session, stdin="yes\n", env=environ, before=ALONE)
        assert (ran.status, "[PERSON_NEEDED]" in ran.err) == (4, True), ran

    assert told("resume", session)["evidence"][0]["verdict"] == "missing"


def test_a_person_at_a_terminal_answers_after_seeing_what_it_means(session: str) -> None:
    no = at_a_terminal(["answer", session, "ship=Yes"], "no")
    assert (no[1], is_undecided(session)) == (4, True)

    output, status = at_a_terminal(["answer", session, "ship=Yes"], "yes")

    assert status == 0, output
    for text in ("Publish 1.4.0 to production?", "your answer: Yes", "Everybody gets it"):
        assert text in output
    record = told("sessions", session)["history"][-1]
    assert (record["kind"], record["note"]["way"], record["conversation"]) == ("answer", "terminal", None)
    assert "ship=Yes (by a person at the terminal)" in flow("sessions", session).out
    assert "ship=Yes (by a person at the terminal)" in flow("audit", session).out
    assert within(A, "step", "release", "done", "--session", session)["answers"][0]["way"] == "terminal"


def test_a_relayed_answer_is_recorded_as_relayed_with_the_conversation() -> None:
    put_skill("release", RELEASE.replace("        person: true\n", ""))
    session = str(within(A, "step", "release", "--new")["session"])

    within(A, "answer", session, "ship=No")

    record = told("sessions", session)["history"][-1]
    assert (record["note"]["way"], record["conversation"]) == ("relayed", A)
    assert "ship=No (relayed by the agent)" in flow("sessions", session).out


def test_the_step_says_what_it_waits_for_and_that_the_turn_ends(session: str) -> None:
    shown = flow("resume", session, "--format", "xml").out

    assert '<option label="Yes" description="Everybody gets it" person="true">' in shown
    assert "Only a person may choose" in shown
    assert f"Then end your turn: `flow resume {session}` continues" in shown
    assert hook("stop", claude_code("stop")) == {}
    at_a_terminal(["answer", session, "ship=Yes"], "yes")
    assert "You are not finished" in json.dumps(hook("stop", claude_code("stop")))


def test_what_accepts_a_risk_is_a_persons_and_another_round_may_be_relayed() -> None:
    put_skill(
        "loop",
        "name: NAME\nsteps:\n"
        "  - {id: work, title: Work, actions: [Do.], limit: 1, next: {ok: null, fail: work}}\n",
    )
    session = str(within(A, "step", "loop", "--new")["session"])
    within(A, "step", "loop", "fail", "--session", session)

    with conversation(A):
        status, error = refused("answer", session, "limit=Accept the risk", "--reason", "fine")
    assert (status, error["code"]) == (4, "PERSON_NEEDED")

    within(A, "answer", session, "limit=Another round")
    assert told("sessions", session)["status"] == "active"


def test_a_person_waives_missing_evidence_with_a_reason() -> None:
    put_skill(
        "build",
        "name: NAME\nsteps:\n"
        "  - {id: a, title: A, actions: [Do.], evidence: {ok: [{id: plan, file: plan.md}]}, next: {ok: null}}\n",
    )
    session = str(within(A, "step", "build", "--new")["session"])
    with conversation(A):
        for _ in range(3):
            refused("step", "build", "ok", "--session", session)
        assert refused("answer", session, "evidence=Waive", "--reason", "so")[1]["code"] == "PERSON_NEEDED"

    assert at_a_terminal(["answer", session, "evidence=Waive", "--reason", "no plan"], "yes")[1] == 0

    ended = within(A, "step", "build", "ok", "--session", session)
    checks = told("sessions", ended["session"])["history"][-1]["evidence"]
    assert [(check["verdict"], check["reason"], check["way"]) for check in checks] == [
        ("waived", "no plan", "terminal")
    ]
    assert not Path("plan.md").exists()
