"""Records that somebody else wrote behind a session's first: what their notes say is never relied on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.forged import folder_of, forged_behind
from support.judge import judged
from support.sandbox import flow, put_skill, told

READERS = (
    ["history", "ID"],
    ["history", "ID", "--json"],
    ["verify", "ID", "--json"],
    ["audit"],
    ["audit", "--json"],
    ["audit", "verify", "--json"],
    ["record", "ID"],
    ["coverage", "plain", "--sessions", "--json"],
    ["diagram", "--session", "ID", "--format", "html"],
    ["status", "ID", "--json"],
)
NOTES: Mapping[str, tuple[dict[str, Any], ...]] = {
    "rewind": ({}, {"from": [], "to": {}}, {"from": 1, "to": "a"}, {"from": 1, "to": 0, "reason": 5}),
    "fork": ({}, {"from": 1}, {"into": 1}, {"into": "a"}, {"from": {"session": 1, "revision": []}}),
    "migrate": ({}, {"verdict": "x", "renamed": []}, {"verdict": [], "renamed": {}},
                {"verdict": "x", "renamed": {"first": []}}),
    "answer": ({"answers": [1]}, {"a": 1}, {"answers": {"a": 1}}, {"answers": {"a": [[]]}}),
    "ask": ({"questions": 5}, {"questions": [1]}, {"questions": {"a": 1}}),
    "claim": ({"dispatch": [], "holder": {}}, {"dispatch": "a", "holder": "b", "child": 4}),
    "finish": ({"dispatch": [1], "outcome": {}},),
    "cancel": ({"dispatch": None}, {"reason": []}),
    "abandon": ({"reason": 5}, {"reason": {"$file": "texts/a.txt"}}),
    "finding": ({"finding": ["x"]},),
    "held": ({"times": "often"},),
    "limit": ({"dispatches": 5}, {"dispatches": [1]}),
    "move": ({"dispatches": [{"id": 1}]}, {"dispatches": {"a": 1}}),
    "handoff": ({"handoff": [], "sha256": {}},),
    "nonsense": ({"reason": 1.5}, {"finding": {}}),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOTES)
def test_a_note_of_another_form_is_told_by_whatever_reads_it(kind: str) -> None:
    put_skill("plain")
    for note in NOTES[kind]:
        session = str(told("start", "plain")["session"])
        forged_behind(session, kind=kind, note=note)

        for words in READERS:
            judged(*(each.replace("ID", session) for each in words))


def test_a_history_tells_what_stands_before_such_a_note() -> None:
    put_skill("plain")
    session = str(told("start", "plain")["session"])
    forged_behind(session, kind="rewind", note={})

    ran = flow("history", session, "--json")

    assert ran.status == 3
    assert [each["kind"] for each in ran.data["steps"]] == ["start"]
    assert "its note has no `from`" in ran.data["error"]["message"]


def test_a_note_that_is_nested_deeply_is_refused() -> None:
    put_skill("plain")
    session = str(told("start", "plain")["session"])
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    forged_behind(session, kind="note", note={"a": deep})

    assert "nested too deeply" in judged("history", session).err


def test_a_long_reason_of_ones_own_is_told_as_the_file_that_it_lies_in() -> None:
    put_skill("plain")
    session = str(told("start", "plain")["session"])
    assert flow("abandon", session, "--reason", "because " * 5_000).status == 0

    ran = judged("history", session)

    assert ran.status == 0
    assert "(40000 bytes)" in ran.out
    assert json.loads(judged("verify", session, "--json").out)["sessions"][0]["problems"] == []
    assert len(list((folder_of(session) / "texts").iterdir())) == 1
