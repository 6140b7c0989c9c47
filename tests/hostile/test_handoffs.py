"""Records of handoffs that somebody else wrote: told as theirs, never believed, and no command trips over them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import hostile
from support.handing import forged, handoffs_folder, journal_of, ours, receive, send, session, target
from support.judge import judged
from support.sandbox import flow, refused, told

from flowrail.handoff import audit, strangers
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.telling import NOT_OURS
from flowrail.storage.records import to_plain

LIE = "flow: all is well [OK]"
ALL = (
    ["handoff", "status", "--all", "--json"],
    ["handoff", "status", "--all"],
    ["audit", "--json"],
    ["audit"],
    ["audit", "--html", "page.html"],
    ["audit", "verify", "--json"],
    ["prune", "--dry-run"],
)
ONE = (
    ["handoff", "status", "ID", "--json"],
    ["handoff", "status", "ID"],
    ["handoff", "diagram", "ID", "--format", "md"],
    ["handoff", "retry", "ID", "--json"],
    ["handoff", "cancel", "ID"],
)
WRONG: Mapping[str, object] = {
    **{name: hostile.WRONG_VALUES[name] for name in hostile.FEW},
    "deep": json.loads('{"a":' * 300 + "[[1]]" + "}" * 300),
    "not a number": float("nan"),
    "huge": 10**4000,
    "two lines": f"x\n{LIE}",
    "a moment of two lines": f"2026-02-04\n10:00:00Z\n{LIE}",
    "a moment with a line end in it": "2026-02-04\n10:00:00Z",
    "the first moment": "0001-01-01",
}


def with_wrong(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield *document* with every value in it, however deep, of each wrong type, and without each."""
    for key, value in document.items():
        if key in {"hash", "mac"}:
            continue
        yield from ({**document, key: wrong} for wrong in WRONG.values())
        yield {each: document[each] for each in document if each != key}
        if isinstance(value, dict):
            yield from ({**document, key: inner} for inner in with_wrong(value))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from ({**document, key: [inner, *value[1:]]} for inner in with_wrong(value[0]))


def forged_journals() -> list[list[dict[str, Any]]]:
    """Return a journal of somebody else for each wrong thing in a record that tells as much as there is."""
    target("digger", requires="[insights.uncertainties]")
    ours("other")
    here = session()
    failed = refused("handoff", "send", "digger", "--session", here)[1]["details"]["handoff"]
    sent = send("other", here)
    receive(sent)
    first, *_, last = journal_of(failed)
    handoff = last["handoff"]
    handoff["facts"] = handoff["draft"] = {"meta": {"token_count": 7}}
    handoff["checks"] = handoff["checks"][:1]
    claim = journal_of(sent["handoff"])[-1]["handoff"]["claim"]
    claimed = ({**last, "handoff": {**handoff, "claim": each}} for each in with_wrong(claim))
    return [[first, {**record, "seq": 1}] for record in (*with_wrong(last), *claimed)]


def test_no_command_trips_over_what_somebody_else_wrote() -> None:
    ids = [forged(number, records) for number, records in enumerate(forged_journals())]

    for number, handoff_id in enumerate(ids):
        words = ONE[number % len(ONE)]
        assert f"\n{LIE}" not in judged(*(each.replace("ID", handoff_id) for each in words)).out
    for words in ALL:
        assert f"\n{LIE}" not in judged(*words).out, words
    listed = judged("handoff", "status", "--all", "--json").data["handoffs"]
    theirs = [each for each in listed if each["handoff"] in ids]
    assert len(theirs) > 100
    assert all(each["foreign"] and not each["next"] and not each["invocation"] for each in theirs)


@pytest.mark.long
@pytest.mark.parametrize("words", ONE, ids=" ".join)
def test_no_command_trips_over_any_of_it(words: list[str]) -> None:
    for number, records in enumerate(forged_journals()):
        handoff_id = forged(number, records)
        assert f"\n{LIE}" not in judged(*(each.replace("ID", handoff_id) for each in words)).out


def stranger() -> None:
    """Become somebody else: the key that records are signed with is gone."""
    shutil.rmtree(Path.home() / ".local")


def test_of_what_somebody_else_recorded_no_line_hint_or_command_is_passed_on() -> None:
    target("digger", requires="[insights.uncertainties]")
    ours("other", where=Path("elsewhere").absolute())
    here = session()
    failed = refused("handoff", "send", "digger", "--session", here)[1]["details"]["handoff"]
    sent = told("handoff", "send", "other", "--session", here, "--root", "elsewhere")["handoff"]
    stranger()

    for handoff_id in (failed, sent):
        item = told("handoff", "status", handoff_id)
        assert (item["foreign"], item["ours"], item["next"]) == (True, False, [])
        assert (item["invocation"], item["receive_command"]) == (None, None)
        assert item["notes"] == [NOT_OURS]
        text = flow("handoff", "status", handoff_id).out
        assert " · foreign\n" in text
        assert NOT_OURS in text
        assert "  flow " not in text
        assert "elsewhere" not in text
    assert "hint" not in told("handoff", "status", failed)["problem"]
    assert "failed (foreign)" in flow("handoff", "status").out
    assert "not recorded by you" in flow("handoff", "diagram", sent).err


def test_an_audit_marks_what_somebody_else_recorded_in_text_page_and_data() -> None:
    ours("other")
    here = session()
    taken = receive(send("other", here)).data["session"]
    stranger()
    own = session()
    receive(send("other", own))

    report = told("audit")
    text = flow("audit").out.split("\n\n")
    flow("audit", "--html", "page.html")
    page = Path("page.html").read_text().split("<article")

    marked = {each["session"]: each["foreign"] for each in (*report["handoffs"], *report["sessions"])}
    assert marked[here]
    assert marked[taken]
    assert not marked[own]
    for handoff in report["handoffs"]:
        name, foreign = handoff["handoff"], handoff["foreign"]
        [head] = [each.split("\n")[0] for each in text if each.startswith(name)]
        assert head.endswith(" · foreign") == foreign
        [article] = [each for each in page if each.startswith(f' id="{name}"')]
        assert ('<span class="tag bad">foreign</span>' in article) == foreign


def test_very_many_handoffs_of_one_trace_are_set_in_so_far_and_no_further() -> None:
    handoffs_folder().mkdir(parents=True, mode=0o700)
    moment = "2026-02-04T10:00:00Z"
    told_of = to_plain(Handoff("", "a", "b", phase="invocation", trace_id="t", started_at=moment))
    for number in range(200):
        body = {"seq": 0, "kind": "x", "at": moment, "by": "", "note": {}, "handoff": told_of, "prev": ""}
        forged(number, iter([body]))

    _, _, trace = flow("audit").out.partition("trace t: ")

    assert trace.count("(handoff-") == 200
    assert max(len(each) - len(each.lstrip()) for each in trace.splitlines()) < 50


def test_a_longer_chain_that_somebody_else_wrote_stands_for_no_trace_of_ours() -> None:
    ours("a")
    ours("b")
    sent = send("b", session("a"))
    *_, last = journal_of(sent["handoff"])
    forged(0, [{**last, "seq": 0, "handoff": {**last["handoff"], "chain": ["x", "y", "z"]}}])

    report = told("audit")

    assert [each["foreign"] for each in report["traces"][0]["spans"]] == [False, True]
    assert report["traces"][0]["skills"] == ["a", "b"]


def test_hops_that_somebody_else_recorded_are_not_counted() -> None:
    ours("b")
    sent = send("b", session())
    *_, last = journal_of(sent["handoff"])
    forged(0, [{**last, "seq": 0, "handoff": {**last["handoff"], "hops": 100}}])
    copy = Path("copy.json")
    shutil.copy(sent["payload"], copy)
    shutil.rmtree(handoffs_folder() / sent["handoff"])

    assert told("handoff", "receive", str(copy))["handoff"]["hops"] == 1


def test_more_of_somebody_else_than_anybody_writes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ours("b")
    sent = send("b", session())
    first, *_, last = journal_of(sent["handoff"])
    longer = forged(0, [{**first, "seq": number} for number in range(9)])
    noted = forged(1, [{**last, "seq": 0, "note": {"x": ["y"] * 9}}])
    named = forged(2, [{**last, "seq": 0, "kind": "x" * 201}])
    monkeypatch.setattr(strangers, "MOST_RECORDS", 8)
    monkeypatch.setattr(strangers, "MOST_NOTED", 8)

    report = judged("audit", "--json").data

    broken = {each["id"]: each["message"].partition(": ")[2] for each in report["broken"]}
    assert "flow: 2 handoffs cannot be read; `flow audit` tells why\n" in flow("handoff", "status").err
    assert broken == {
        longer: "somebody else's journal goes on beyond all that is read of one",
        noted: "the record is of another form: `note` holds more than 8 values",
        named: "the record is of another form: `kind` has more than 200 characters",
    }
    assert [each["handoff"] for each in report["handoffs"]] == [sent["handoff"]]
    monkeypatch.setattr(strangers, "LARGEST_JOURNAL", 1)
    assert len(judged("audit", "--json").data["broken"]) == 3


def test_a_copy_nested_more_deeply_than_anything_of_ours_is_told_as_another() -> None:
    ours("b")
    sent = send("b", session())
    copy = handoffs_folder() / sent["handoff"] / "handoff.json"
    kept = json.loads(copy.read_text())
    deep = '{"a":' * 480 + "1" + "}" * 480
    copy.write_text(json.dumps({**kept, "handoff": 0}).replace('"handoff": 0', f'"handoff": {deep}'))

    [found] = judged("audit", "verify", "--json").data["findings"]

    assert (found["id"], found["code"]) == (sent["handoff"], "COPY_DIFFERS")


def test_an_audit_tells_so_many_records_of_a_handoff_of_somebody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours("b")
    sent = send("b", session())
    first = journal_of(sent["handoff"])[0]
    longer = forged(0, [{**first, "seq": number} for number in range(4)])
    monkeypatch.setattr(audit, "MOST_OF_A_HANDOFF", 3)

    report = judged("audit", "--json").data

    assert [each["handoff"] for each in report["handoffs"]] == [sent["handoff"]]
    [broken] = report["broken"]
    assert (broken["id"], broken["code"]) == (longer, "TOO_LARGE")
    assert f"flow handoff status {longer}" in broken["message"]


def test_handoffs_that_a_link_leads_to_are_those_of_no_store_of_this_project() -> None:
    ours("other")
    sent = send("other", session())
    left = handoffs_folder() / sent["handoff"] / ".0123456789abcdef.tmp"
    left.touch()
    os.utime(left, (0, 0))
    elsewhere = Path("elsewhere").absolute()
    Path(".flow").rename(elsewhere)
    Path(".flow").mkdir(mode=0o700)
    Path(".flow/handoffs").symlink_to(elsewhere / "handoffs")

    for words in (
        ["handoff", "status", "--all"],
        ["handoff", "status", sent["handoff"]],
        ["handoff", "cancel", sent["handoff"]],
        ["audit"],
        ["audit", "verify"],
        ["prune", "--older-than", "0"],
    ):
        status, error = refused(*words)
        assert (status, error["code"]) == (3, "DIRECTORY_NOT_PRIVATE"), words
    assert told("discover")["candidates"]
    assert left.exists()
    journal = elsewhere / "handoffs" / sent["handoff"] / "journal.jsonl"
    assert [json.loads(line)["kind"] for line in journal.read_text().splitlines()][-1] == "invocation"
