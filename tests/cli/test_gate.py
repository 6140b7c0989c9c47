"""A review gate as an agent sees it: banner, stop condition, new review, and its end if every review fails."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from support.sandbox import decided, flow, put_skill, told

LOOP = """\
name: NAME
steps:
  - {id: work, title: Do the work, actions: [Work.], next: {ok: review}}
  - {id: review, title: Review it, actions: [Review.], next: {ok: gate, fail: gate}}
  - id: gate
    title: Gate
    actions: [Decide.]
    gate: {name: Quality, review: review}
    next: {ok: tell, fail: work}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""


class Agent:
    """An agent that follows the loop, and records a finding in every round."""

    def __init__(self, workflow: str = LOOP) -> None:
        put_skill("loop", workflow)
        self.printed: Any = told("step", "loop", "--new")
        self.session = self.printed["session"]

    def run(self, line: str) -> Any:
        self.printed = told(*shlex.split(line)[1:])
        return self.printed

    def report(self, outcome: str) -> Any:
        return self.run(
            next(
                transition["command"]
                for transition in self.printed["next"]
                if transition["outcome"] == outcome
            )
        )

    def find(self, severity: str = "MUST") -> None:
        told("finding", "add", self.session, "--severity", severity, "--text", f"a {severity}")

    def to_gate(self, *severities: str) -> Any:
        self.report("ok")
        for severity in severities:
            self.find(severity)
        return self.report("ok")

    def until_asked(self) -> int:
        rounds = 0
        while self.printed["status"] != "waiting":
            self.to_gate("MUST")
            rounds += 1
            self.report("done")
        return rounds

    def answer(self, label: str) -> Any:
        (question,) = self.printed["questions"]
        labels = [option["label"] for option in question["options"]]
        words = shlex.split(question["choices"][labels.index(label)])[1:]
        is_persons = question["options"][labels.index(label)]["person"]
        self.printed = decided(*words) if is_persons else told(*words)
        return self.report("done")

    def shown(self, form: str = "xml") -> str:
        return flow("resume", self.session, "--format", form).out


def test_the_three_pillars_stand_at_every_gate() -> None:
    agent = Agent()
    agent.to_gate("MUST", "COULD")

    banners = {
        "xml": '<state_banner checkpoint="Quality" iteration="1" limit="5" mode="failed">',
        "text": "State banner (checkpoint Quality, iteration 1, limit 5, mode failed)",
    }
    for form, banner in banners.items():
        shown = agent.shown(form)
        assert banner in shown
        assert "Fixing anything here" in shown
        assert "Then it is reviewed again." in shown
        assert (
            "The gate does not pass: F1, F2. Severities that block in this round: MUST, SHOULD, COULD."
            in shown
        )
        assert "Decide." in shown
    assert agent.printed["loop"] == {
        "gate": "gate",
        "name": "Quality",
        "round": 1,
        "limit": 5,
        "mode": "failed",
        "severities": ["MUST", "SHOULD", "COULD"],
        "blocking": ["F1", "F2"],
        "fixed_in": "Do the work",
        "unreviewed": False,
    }
    assert [(transition["outcome"], transition["to"]) for transition in agent.printed["next"]] == [
        ("done", "work")
    ]


@pytest.mark.parametrize(
    ("label", "status", "step", "outcome"),
    [
        ("Another round", "active", "work", "fail"),
        ("Accept the risk", "active", "tell", "ok"),
        ("Stop", "failed", None, "stop"),
    ],
)
def test_three_answers_three_ends_all_on_record(
    label: str, status: str, step: str | None, outcome: str
) -> None:
    agent = Agent()
    assert agent.until_asked() == 5

    after = agent.answer(label)

    assert (after["status"], after["step"] and after["step"]["id"]) == (status, step)
    records = told("sessions", agent.session)["history"]
    *_, limit, answer, move = records
    assert (limit["kind"], answer["kind"], move["outcome"]) == ("limit", "answer", outcome)
    assert answer["note"]["answers"] == {"limit": [label]}
    assert answer["note"]["way"] == ("terminal" if label == "Accept the risk" else "relayed")
    if label == "Accept the risk":
        assert answer["note"]["reason"] == "the user accepts what is still open"
        shown = " ".join(flow("sessions", agent.session).out.split())
        assert "limit=Accept the risk; reason the user accepts what is still open; by a person at" in shown


def test_a_review_that_failed_and_put_nothing_on_record_does_not_pass() -> None:
    agent = Agent()
    agent.report("ok")

    at_gate = agent.report("fail")

    assert (at_gate["loop"]["mode"], at_gate["loop"]["blocking"], at_gate["loop"]["unreviewed"]) == (
        "failed",
        [],
        True,
    )
    for form in ("xml", "text"):
        assert "The review failed and recorded no findings" in agent.shown(form)
        assert "Back to: Do the work. Then it is reviewed again." in agent.shown(form)
    assert [(transition["outcome"], transition["to"]) for transition in at_gate["next"]] == [("done", "work")]
    assert agent.report("done")["step"]["id"] == "work"
    assert "Fix what stopped the review." in agent.shown()
