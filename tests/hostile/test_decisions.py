"""A person's decision is a person's: an agent that tries everything is refused, or its way is in the threat model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.hooks import A, B, claude_code, conversation, denied, hook, within
from support.sandbox import RELEASE, flow, process, project_skills, put_skill, refused, sessions_folder, told
from support.terminal import at_a_terminal
from support.web import Website, website

from flowrail.hosts.conversation import MARKS

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
        assert refused("session", "migrate", session)[1]["code"] == "PERSON_NEEDED"
    assert process("session", "migrate", session, stdin="yes\n", before=ALONE).status == 4


def asks_the_page(session: str) -> None:
    """Send requests to the page that the user opened, with all that an agent finds without the user's browser."""
    pytest.importorskip("starlette", reason="the extra `web` is not installed")
    body, path = {"revision": 0, "answers": {"ship": ["Yes"]}}, f"/sessions/{session}/answer"
    with website() as site:
        opened = Website(site.address, site.process)
        opened.enter()  # the user's browser has used up the token
        for command_line in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                assert site.address.rpartition("=")[2].encode() not in command_line.read_bytes()
        (known,) = (Path.home() / ".local/state/flowrail").glob("page-*.json")
        assert json.loads(known.read_text())["address"] == site.origin
        assert not [*known.parent.glob("ui-*")]
        assert site.enter().status == 401
        headers = {"Origin": site.origin, "X-Flow-Csrf": "guess", "Content-Type": "application/json"}
        for cookie in ("", "flow_ui=guess"):
            site.cookie = cookie
            assert site.request(path, "POST", body=json.dumps(body), headers=headers).status == 401
            assert site.request(f"/sessions/{session}").status == 401


def opens_a_page_itself(session: str) -> None:
    pytest.importorskip("starlette", reason="the extra `web` is not installed")
    body = {"revision": 0, "answers": {"ship": ["Yes"]}}
    with conversation(A), website() as in_conversation:
        in_conversation.enter()
        assert in_conversation.change(f"/sessions/{session}/answer", body).status == 403
    with website(at_terminal=False) as in_pipe:
        in_pipe.enter()
        assert in_pipe.change(f"/sessions/{session}/answer", body).status == 403


WAYS: tuple[Callable[[str], None], ...] = (
    answers,
    answers_in_other_words,
    answers_as_another_conversation,
    answers_without_a_conversation,
    answers_by_an_empty_conversation,
    answers_from_python,
    reports_the_outcome,
    asks_the_page,
    opens_a_page_itself,
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


@pytest.mark.parametrize("mark", MARKS)
def test_the_shell_of_an_agent_is_no_persons_also_at_a_terminal(session: str, mark: str) -> None:
    for words in (["answer", session, "ship=Yes", "--take-over"], ["trust", "release"]):
        output, status = at_a_terminal(words, "yes", env={mark: "1"}, columns=300)

        assert status in {4, 7}, output
        assert mark in output
        assert "in a terminal of their own" in output or "trust" in output
    assert is_undecided(session)


def test_the_page_of_an_agents_shell_takes_no_answers(session: str) -> None:
    pytest.importorskip("starlette", reason="the extra `web` is not installed")
    with website(env={"CLAUDECODE": "1", "BROWSER": "true"}) as site:
        site.enter()
        body = {"revision": 0, "answers": {"ship": ["Yes"]}}
        assert site.change(f"/sessions/{session}/answer", body).status == 403


@pytest.mark.parametrize("typed", ["no", "y", ""])
def test_only_a_typed_yes_decides_and_another_answer_is_named(session: str, typed: str) -> None:
    output, status = at_a_terminal(["answer", session, "ship=Yes"], typed, columns=200)

    assert (status, is_undecided(session)) == (7, True)
    assert f"only `yes` confirms, and the answer was `{typed}` [NOT_CONFIRMED]" in output


def test_a_person_at_a_terminal_answers_after_seeing_what_it_means(session: str) -> None:

    output, status = at_a_terminal(["answer", session, "ship=Yes"], "yes")

    assert status == 0, output
    for text in ("Publish 1.4.0 to production?", "your answer: Yes", "Everybody gets it"):
        assert text in output
    record = told("sessions", session)["history"][-1]
    assert (record["kind"], record["note"]["way"], record["conversation"]) == ("answer", "terminal", None)
    assert "ship=Yes; by a person at the terminal" in flow("sessions", session).out
    assert "ship=Yes; by a person at the terminal" in flow("audit", session).out
    assert within(A, "step", "release", "done", "--session", session)["answers"][0]["way"] == "terminal"


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


# --- the host's question tool


def tool_input(session: str, **changes: Any) -> dict[str, Any]:
    """Return the input with which an agent asks the open question in the host's tool, word for word."""
    question = told("resume", session)["questions"][0]
    options = [
        {"label": option["label"], "description": option["description"]} for option in question["options"]
    ]
    asked = {
        "question": question["text"],
        "header": question["header"],
        "options": options,
        "multiSelect": False,
    }
    return {"questions": [{**asked, **changes}]}


def answered(asked: dict[str, Any], answer: str = "Yes", **more: Any) -> str:
    """Return what an agent reads after the user answered in the host's tool."""
    response = {
        "questions": asked["questions"],
        "answers": {asked["questions"][0]["question"]: answer},
        **more,
    }
    given: dict[str, Any] = {"tool_name": "AskUserQuestion", "tool_input": asked, "tool_response": response}
    answer_of_hook = hook("post-tool-use", claude_code("post-tool-use", **given))
    return str(answer_of_hook["hookSpecificOutput"]["additionalContext"]) if answer_of_hook else ""


def test_the_users_answer_in_the_hosts_question_tool_counts_and_is_recorded_as_such(session: str) -> None:
    said = answered(tool_input(session), annotations={})

    assert said.startswith(f"flow recorded the user's answer to `ship`. Continue: `flow resume {session}")
    record = told("sessions", session)["history"][-1]
    assert (record["note"]["way"], record["note"]["answers"]) == ("host", {"ship": ["Yes"]})
    assert "ship=Yes; by a person in the host's question tool" in flow("sessions", session).out
    assert within(A, "step", "release", "done", "--session", session)["step"]["id"] == "publish"


def test_a_confirmation_in_the_hosts_question_tool_counts(session: str) -> None:
    check = told("resume", at_evidence(session))["evidence"][0]
    options = [
        {key: option[key] for key in ("label", "description")} for option in check["question"]["options"]
    ]
    asked = {
        "questions": [
            {"question": "The rollback plan of 1.4.0 was read", "header": "Confirm", "options": options}
        ]
    }

    assert "recorded no answer to `read`" in answered(asked, "Not yet")
    assert "recorded the user's answer to `read`" in answered(asked, "Confirm")

    record = told("sessions", session)["history"][-1]
    assert (record["kind"], record["note"]["way"]) == ("approve", "host")


NOT_ASKED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another question": ({"question": "Do I continue?"}, {}),
    "softer options": (
        {"options": [{"label": "Yes", "description": "Try it out"}, {"label": "No", "description": "Later"}]},
        {},
    ),
    "one option less": ({"options": [{"label": "Yes", "description": "Everybody gets it"}]}, {}),
    "ended by the host after a time": ({}, {"afkTimeoutMs": 60000}),
    "options that are no list": ({"options": {"label": "Yes"}}, {}),
}


@pytest.mark.parametrize(("changes", "more"), NOT_ASKED.values(), ids=NOT_ASKED)
def test_what_the_user_was_not_asked_word_for_word_is_no_answer(
    session: str, changes: dict[str, Any], more: dict[str, Any]
) -> None:
    said = answered(tool_input(session, **changes), **more)

    assert is_undecided(session)
    assert more or "word for word" in said


SHELLS_OF_AGENTS = [{"CLAUDECODE": "1"}, {"CLAUDECODE": "1", "AI_AGENT": "claude-code_2-1-329_agent"}]
"""What Claude Code sets for the shells of an agent, in older and in newer versions."""


@pytest.mark.parametrize("shell", SHELLS_OF_AGENTS)
def test_an_agent_cannot_call_the_hook_itself_or_fill_in_the_answers(
    session: str, shell: dict[str, str]
) -> None:
    asked = tool_input(session)
    given: dict[str, Any] = {
        "tool_name": "AskUserQuestion",
        "tool_input": {**asked, "answers": {"Publish?": "Yes"}},
    }
    assert "Only the user gives the answers" in denied(
        hook("pre-tool-use", claude_code("pre-tool-use", **given))
    )

    with patch.dict(os.environ, shell):
        assert answered(asked) == ""

    assert is_undecided(session)


def test_the_users_answer_counts_if_the_host_marks_its_hooks_like_shells(session: str) -> None:
    with patch.dict(os.environ, {"CLAUDECODE": "1", "AI_AGENT": "claude-code_2-1-329_harness"}):
        assert answered(tool_input(session)).startswith("flow recorded the user's answer to `ship`")
