"""What the pages show and what can be done on them, over real requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.dispatching_skill import REVIEW, put_lead
from support.forged import disown
from support.handoffs import ours, receive, send, session, target
from support.hooks import A, B, conversation, within
from support.sandbox import flow, put_skill, refused, sessions_folder, told
from support.web import APPROVAL, PUBLISH, Website, migration, website

pytest.importorskip("starlette", reason="the extra `web` is not installed")


@pytest.fixture
def site() -> Iterator[Website]:
    put_skill("release", APPROVAL)
    with website() as running:
        running.enter()
        yield running


def started(version: str = "1.4.0") -> str:
    return str(told("step", "release", "--new", "-p", f"version={version}")["session"])


def report(session: str, *outcomes: str) -> None:
    for outcome in outcomes:
        told("step", "release", outcome, "--session", session)


def test_the_board_puts_first_what_needs_a_person(site: Website) -> None:
    waiting, running, ended = started("waits"), started("runs"), started("ended")
    report(waiting, "ok")
    told("session", "abandon", ended)

    page = site.request("/").text

    order = [page.index(f'href="/sessions/{session}"') for session in (waiting, running, ended)]
    assert order == sorted(order)
    assert "Publish it?" in page
    assert "step 2 of 3: Ask for approval" in page


def test_a_session_page_shows_what_the_agent_was_shown_at_each_record(site: Website) -> None:
    session = started()
    report(session, "iterate", "ok")

    newest = site.request(f"/sessions/{session}?at=2").text
    first = site.request(f"/sessions/{session}?at=0").text

    assert "Show the changes." in newest
    assert "Run the tests." not in newest
    assert "Run the tests." in first
    assert "Test 1.4.0" in first
    assert "Back to now" in first
    assert "Back to now" not in newest


def test_the_page_of_a_decision_shows_what_it_is_about(site: Website) -> None:
    session = migration()

    page = site.request(f"/sessions/{session}").text
    before = site.request(f"/sessions/{session}?at=5").text

    question, _, about = page.partition('class="material"')
    assert "Run the migration <em>drop orders.note</em> on the production database?" in question
    assert (
        "Then the work continues with Run the migration, which runs <code>sh migrate.sh</code> once "
        "and may run <code>psql production*</code>." in question
    )
    assert "Then the work goes back to Write the migration." in question
    assert question.index('name="reason"') < question.index("data-option") < question.index("<details>")
    assert question.index("<details>") < question.index('name="other"') < question.index("</details>")
    assert "The migration and its rollback are ready." in question
    assert "Write the migration <b" in question
    empty, _, others = about.partition("db/0042_drop_column.sql</code> <b")
    assert "This file is empty: nothing is written in it." in empty
    assert "alter table orders drop column note;" in others
    assert "should be fixed</span> No backup of <code>orders.note</code> is taken" in about
    assert f"recorded in this session (account {told('sessions', session)['history'][0]['by']})" in about
    assert "recorded in this session" in about.partition("a submitted review")[2]
    assert "2 tests passed: the migration applies to an empty database" in about
    assert "data-option" not in before
    assert "This session waits for your decision." in before


GATED = """\
name: NAME
steps:
  - id: write
    title: Write
    actions: [Write.]
    reports: {confidence: {type: string}}
    limit: 3
    next: {ok: review, iterate: write}
  - {id: review, title: Review, actions: [Review.], next: {ok: judge}}
  - {id: judge, title: Judge, actions: [Judge.], gate: {review: review, limit: 3}, next: {ok: ask, fail: write}}
  - id: ask
    title: Ask
    actions: [Ask.]
    questions:
      - {id: go, header: Go, text: "Go on?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]}
    next: {ok: null, fail: write}
"""
"""A loop by a report, one by the findings of a review, and one by a person's answer."""


def test_the_page_names_the_fact_the_finding_and_the_answer_for_which_a_session_looped(site: Website) -> None:
    put_skill("gated", GATED)
    session = str(told("step", "gated", "--new")["session"])
    told("step", "gated", "iterate", "--session", session, "-s", "confidence=low")
    told("step", "gated", "ok", "--session", session, "-s", "confidence=high")
    told("finding", "add", session, "--severity", "MUST", "--text", "No rollback", "--place", "db/x.sql:3")
    told("step", "gated", "ok", "--session", session)
    told("step", "gated", "done", "--session", session)
    told("step", "gated", "ok", "--session", session, "-s", "confidence=high")
    told("finding", "none", session)
    told("step", "gated", "ok", "--session", session)
    told("step", "gated", "done", "--session", session)
    told("answer", session, "go=No")
    told("step", "gated", "done", "--session", session, "--note", "The user wants **more**")

    decided = site.request(f"/sessions/{session}").text
    why = decided.partition("Why it looped</h2>")[2].partition("</section>")[0]

    assert [why.index(text) for text in ("Go on? No", "No rollback", "confidence=low")] == sorted(
        why.index(text) for text in ("Go on? No", "No rollback", "confidence=low")
    )
    assert "The user wants <strong>more</strong>" in why
    assert "must be fixed</span> No rollback <code>db/x.sql:3</code>" in why


PROVE = """\
name: NAME
steps:
  - {id: write, title: Write, actions: [Write.], evidence: {ok: [{id: plan, file: plan.md}]}, next: {ok: null}}
"""
"""A step whose file nobody writes."""


def test_a_check_whose_file_is_empty_has_no_green_tick(site: Website) -> None:
    session = migration()

    rows = site.request(f"/sessions/{session}?at=5").text.partition('id="evidence-title"')[2].split("<tr>")

    verdicts = {
        name: "✓" in row for row in rows for name in ("migration", "rollback") if f"<td>{name}<" in row
    }
    assert verdicts == {"migration": True, "rollback": False}
    assert '<b class="fail">its file is empty now</b>' in next(row for row in rows if "<td>rollback<" in row)


def test_a_finding_of_a_sub_agent_names_its_session(site: Website) -> None:
    ask = (
        "  - {id: ask, title: Ask, actions: [Ask.], questions: [{id: go, header: Go, text: Go?, "
        "options: [{label: A, outcome: ok}, {label: B, outcome: fail}]}], next: {ok: null, fail: work}}\n"
    )
    put_lead(text=REVIEW.replace("{ok: null, fail: work}", "{ok: null, fail: ask}") + ask)
    lead = str(told("step", "lead", "--new")["session"])
    reviewing = told("step", "lead", "ok", "--session", lead)
    child = told(*reviewing["dispatches"][0]["command"].split()[1:])["session"]
    told("finding", "add", child, "--severity", "MUST", "--text", "No rollback")
    told("step", "lead/one", "ok", "--session", child)
    told("step", "lead/one", "ok", "--session", child, "-s", "found=1")
    told("step", "lead", "ok", "--session", lead)
    told("step", "lead", "done", "--session", lead)

    page = site.request(f"/sessions/{lead}").text

    assert "must be fixed</span> No rollback" in page
    assert f'recorded by sub-agent <a href="/sessions/{child}">{child}</a>' in page


def test_the_board_shows_the_first_words_of_an_open_finding(site: Website) -> None:
    migration()

    assert "1 open finding: No backup of <code>orders.note</code> is taken" in site.request("/").text


def test_after_an_answer_the_page_says_who_answered_and_what_comes_next(site: Website) -> None:
    session = migration()
    body = {"revision": 2, "answers": {"run": ["Not yet"]}, "reason": "no rollback"}

    assert site.change(f"/sessions/{session}/answer", body).status == 200
    page = site.request(f"/sessions/{session}").text
    earlier = site.request(f"/sessions/{session}?at=5").text
    told("step", "migrate", "done", "--session", session)

    assert "<b>You answered <em>Not yet</em></b>, because: no rollback." in page
    assert (
        f"You need not do more: the agent reads it with <code>flow resume {session}</code>. "
        "Then the work goes back to Write the migration.</p>" in page
    )
    assert "You answered" not in earlier
    assert "You answered" not in site.request(f"/sessions/{session}").text


def test_a_relayed_answer_is_confirmed_as_relayed(site: Website) -> None:
    session = started()
    report(session, "ok")
    told("answer", session, "go=other:only on **Monday**")

    page = site.request(f"/sessions/{session}").text

    assert "<b>The agent relayed the answer <em>only on **Monday**</em></b>." in page
    assert "You answered" not in page
    assert "Then the work goes back to Test 1.4.0." in page


def test_an_answer_that_stops_a_session_says_so(site: Website) -> None:
    put_skill("prove", PROVE)
    stopped, retried = (str(told("step", "prove", "--new")["session"]) for _ in range(2))
    for waiting in (stopped, retried):
        for _ in range(3):
            assert flow("step", "prove", "ok", "--session", waiting).status == 4

    site.change(f"/sessions/{stopped}/answer", {"revision": 0, "answers": {"evidence": ["Stop"]}})
    site.change(f"/sessions/{retried}/answer", {"revision": 0, "answers": {"evidence": ["Try again"]}})

    assert "<em>Stop</em></b>.\nThe session has ended.</p>" in site.request(f"/sessions/{stopped}").text
    assert "Provide the evidence, then report again.</p>" in site.request(f"/sessions/{retried}").text


def test_an_answer_to_a_sub_agent_is_confirmed_on_the_page_of_the_leading_session(site: Website) -> None:
    put_lead()
    lead = told("step", "lead", "--new")
    child = str(lead["dispatches"][0]["child"])
    told(*lead["dispatches"][0]["command"].split()[1:])
    told("ask", child, json.dumps({"text": "Which?", "options": [{"label": "A"}, {"label": "B"}]}))
    page = site.request(f"/sessions/{lead['session']}").text
    (question,) = told("sessions", child)["questions"]

    answered = site.change(f"/sessions/{child}/answer", {"revision": 0, "answers": {question["id"]: ["B"]}})

    assert answered.status == 200
    assert f'data-session="{child}"' in page
    confirmed = site.request(f"/sessions/{lead['session']}").text
    assert (
        f"<em>B</em></b>.\nYou need not do more: the agent reads it with <code>flow resume {child}</code>.</p>"
        in confirmed
    )


def test_the_step_names_the_open_page_without_its_token(site: Website) -> None:
    session = migration()
    address = f"{site.origin}/sessions/{session}"

    assert f"answers on the page {address}, or types" in flow("resume", session, "--format", "xml").out
    with conversation(A):
        hint = refused("answer", session, "run=Run it")[1]["hint"]

    assert f"to decide on the page {address} or in a terminal of their own" in hint
    assert site.request(f"/sessions/{session}", headers={"Cookie": ""}).status == 401


def test_a_persons_answer_on_the_page_is_recorded_as_such(site: Website) -> None:
    session = migration()

    answered = site.change(f"/sessions/{session}/answer", {"revision": 2, "answers": {"run": ["Not yet"]}})

    assert answered.status == 200
    assert "run=Not yet; by a person on the page" in flow("sessions", session).out


def test_markdown_in_texts_is_rendered_and_markup_stays_text(site: Website) -> None:
    hostile = (
        "**one** [link](https://example.org) [bad](javascript:alert(1)) <script>alert(1)</script> ![x](/y)"
    )
    session = started()
    told(
        "ask",
        session,
        json.dumps({"text": "Which?", "options": [{"label": "A", "description": hostile}, {"label": "B"}]}),
    )

    page = site.request(f"/sessions/{session}").text

    assert "<strong>one</strong>" in page
    assert '<a href="https://example.org">link</a>' in page
    assert "javascript:alert(1))" in page
    assert 'href="javascript' not in page
    assert "<script>alert" not in page
    assert "<img" not in page


def test_the_user_of_the_page_belongs_to_no_conversation_whoever_started_it() -> None:
    put_skill("release", APPROVAL)
    session = within(A, "step", "release", "--new", "-p", "version=1.4.0")["session"]
    within(A, "step", "release", "ok")

    with website() as site:
        site.enter()
        answered = site.change(f"/sessions/{session}/answer", {"revision": 1, "answers": {"go": ["Yes"]}})

    assert answered.status == 200
    record = told("sessions", session)["history"][-1]
    assert (record["kind"], record["conversation"]) == ("answer", None)
    assert within(A, "resume")["session"] == session


def test_a_page_that_was_started_in_a_conversation_shows_questions_and_takes_no_answers() -> None:
    put_skill("release", APPROVAL)
    session = started()
    report(session, "ok")

    with conversation(B), website() as site:
        site.enter()
        page = site.request(f"/sessions/{session}").text
        refused = site.change(f"/sessions/{session}/answer", {"revision": 1, "answers": {"go": ["Yes"]}})

    assert (refused.status, refused.data["code"]) == (403, "NOT_TRUSTED")
    assert f"flow answer {session} go=Yes" in page
    assert "data-option" not in page
    assert told("sessions", session)["status"] == "waiting"


@pytest.mark.parametrize(
    "body",
    ["{", "[" * 100_000, "[]", "null", "\xff", '{"revision": 1}', '{"revision": 1, "answers": {"go": 5}}',
     '{"revision": "1", "answers": {"go": ["Yes"]}}', '{"revision": %s, "answers": {"go": ["Yes"]}}' % ("9" * 5_000)],
)  # fmt: skip
def test_a_request_that_is_no_answer_is_refused_as_wrong(site: Website, body: str) -> None:
    session = started()
    report(session, "ok")
    headers = {"Origin": site.origin, "X-Flow-Csrf": site.csrf(), "Content-Type": "application/json"}

    refused = site.request(f"/sessions/{session}/answer", "POST", body=body, headers=headers)

    assert refused.status == 400
    assert refused.data["message"]


def test_a_number_of_a_record_that_is_none_is_refused_as_wrong(site: Website) -> None:
    session = started()

    for at in ("9" * 5_000, "-1", "x", "%C2%B2"):
        assert site.request(f"/sessions/{session}?at={at}").status == 400


def test_an_answer_to_a_session_that_moved_on_is_refused(site: Website) -> None:
    session = started()
    report(session, "ok")

    refused = site.change(f"/sessions/{session}/answer", {"revision": 0, "answers": {"go": ["Yes"]}})
    unknown = site.change(f"/sessions/{session}/answer", {"revision": 1, "answers": {"stop": ["Yes"]}})
    empty = site.change(f"/sessions/{session}/answer", {"revision": 1})

    assert (refused.status, refused.data["code"]) == (409, "REVISION_CONFLICT")
    assert unknown.status == 400
    assert "stop" in unknown.data["message"]
    assert empty.status == 400
    assert told("sessions", session)["status"] == "waiting"


def test_the_skill_page_counts_transitions(site: Website) -> None:
    report(started(), "iterate", "iterate", "ok")
    report(started(), "ok")

    page = site.request("/skills/release").text

    assert "2 sessions" in page
    assert "iterate (at most 3 attempts, then ok) · twice" in page


def test_text_from_sessions_never_becomes_markup(site: Website) -> None:
    hostile = "<script>alert(1)</script>\u202e\x1b[31m"
    session = started(hostile)
    report(session, "ok")

    for path in ("/", f"/sessions/{session}", f"/sessions/{session}?at=0", "/skills/release"):
        page = site.request(path).text
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page


def test_a_foreign_or_damaged_session_is_named_and_the_others_are_shown(site: Website) -> None:
    foreign, damaged, good = started("a"), started("b"), started("c")
    disown(foreign)
    journal: Path = sessions_folder() / damaged / "journal.jsonl"
    journal.write_bytes(b"{}\n" + journal.read_bytes())

    page = site.request("/").text

    assert "started by another user or on another machine" in page
    assert damaged in page
    assert f'href="/sessions/{good}"' in page
    assert site.request(f"/sessions/{foreign}").status == 403
    assert site.request(f"/sessions/{damaged}").status == 500


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    ran = flow("ui")

    assert ran.status == 2
    assert "pip install 'flowrail[web]'" in ran.err


def test_a_session_page_says_what_became_of_its_handoff(site: Website) -> None:
    ours("source")
    target("receiver")
    sender = session("source", "-s", "synthesis_summary=done")
    sent = send("receiver", sender)

    before = site.request(f"/sessions/{sender}").text
    assert receive(sent).status == 0
    after = site.request(f"/sessions/{sender}").text

    assert "sent, not taken over yet" in before
    assert "taken over and confirmed" in after


def test_a_person_approves_evidence_on_the_page_with_a_reason() -> None:
    session = waiting_for_approval()
    command = ["step", "publish", "ok", "--session", session]

    with website() as site:
        site.enter()
        assert "Your approval is needed: package" in site.request("/").text
        page = site.request(f"/sessions/{session}").text
        seen = {"revision": 0, "answers": {"package": ["Confirm"]}, "reason": "looks right"}
        assert "the package is right" in page
        assert "The agent reported ok for Publish, and waits for you" in page
        moved = site.change(f"/sessions/{session}/answer", {**seen, "revision": 7})
        assert flow(*command).status == 4

        approved = site.change(f"/sessions/{session}/answer", seen)

    assert (moved.status, approved.status) == (409, 200)
    assert told(*command)["status"] == "completed"
    assert "check package; reason looks right; by a person on the page" in flow("sessions", session).out


def test_a_page_that_an_agent_may_have_opened_cannot_approve() -> None:
    session = waiting_for_approval()
    body = {"revision": 0, "answers": {"package": ["Confirm"]}, "reason": "fine"}

    with website(at_terminal=False) as site:
        site.enter()
        page = site.request(f"/sessions/{session}").text
        refused = site.change(f"/sessions/{session}/answer", body)

    assert (refused.status, refused.data["code"]) == (403, "NOT_TRUSTED")
    assert f"flow approve package --session {session}" in page
    assert "data-option" not in page
    assert flow("step", "publish", "ok", "--session", session).status == 4


def waiting_for_approval() -> str:
    """Return a session that only lacks a person's approval."""
    put_skill("publish", PUBLISH)
    Path("package.txt").write_text("the package")
    session = str(told("step", "publish", "--new")["session"])
    assert flow("step", "publish", "ok", "--session", session).status == 4
    return session
