"""Warnings about workflows that work, but not as the author meant: no false findings, none missing."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflows import loop, step, workflow

from flowrail import Report, advance, start
from flowrail.machines.checks.check import check
from flowrail.machines.demanded_evidence import Evidence, StepCommand
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow


def advice(definition: Workflow) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.step) for finding in check(definition, advice=True)]


@pytest.mark.parametrize("limited", ["a", "b", None])
def test_a_loop_needs_a_limit_on_the_step_that_leads_back(limited: str | None) -> None:
    definition = workflow(
        step("a", next={"ok": "b"}, limit=3 if limited == "a" else None),
        step("b", next={"ok": None, "fail": "a"}, limit=3 if limited == "b" else None),
    )

    assert advice(definition) == ([] if limited == "b" else [("FR163", "b")])
    session = start(definition)
    while session.status == "active" and session.revision < 20:
        for outcome in ("ok", "fail"):
            session = advance(definition, session, Report(outcome))
    assert (session.status == "waiting") is (limited == "b")


@pytest.mark.parametrize(
    ("text", "codes"), [("Report **size** and **note**.", ["FR181", "FR181"]), ("Report **sure**.", [])]
)
def test_texts_ask_only_for_facts_that_the_step_accepts(text: str, codes: list[str]) -> None:
    asking = step("first", actions=[text], reports={"sure": Arg()})

    assert [code for code, _ in advice(workflow(asking))] == codes


def test_an_answer_whose_refusal_has_no_effect_is_found() -> None:
    question = Question("go", "Go", "Go?", (Option("Yes"), Option("No", outcome="fail")))
    ignored = workflow(step("a", questions=[question], next={"ok": None, "fail": None}))
    heard = workflow(step("a", questions=[question], next={"ok": "b", "fail": None}), step("b"))

    assert advice(ignored) == [("FR185", "a")]
    assert advice(heard) == []


def test_a_question_that_allows_what_is_guarded_or_runs_once_is_a_persons() -> None:
    def asking(*, person: bool, guards: dict[str, list[str]] | None = None, **last: Any) -> Workflow:
        question = Question("go", "Go", "Go?", (Option("Yes"), Option("No", outcome="fail")), person=person)
        first = step("a", questions=[question], next={"ok": "b", "fail": None})
        return workflow(first, step("b", **last), guards=guards)

    once: dict[str, Any] = {"commands": {"publish": StepCommand(["publish"], once=True)}}
    guards = {"Bash(git push*)": ["b"]}

    for parts in ({**once}, {"guards": guards}):
        assert [code for code, _ in advice(asking(person=False, **parts))] == ["FR188"]
        assert "FR188" not in [code for code, _ in advice(asking(person=True, **parts))]
    assert advice(asking(person=False)) == []


@pytest.mark.parametrize(("fix", "expected"), [("review", []), ("gate", [("FR178", "gate")])])
def test_a_gate_that_a_session_reaches_without_its_review_is_found(fix: str, expected: list[object]) -> None:
    definition = workflow(
        step("review", next={"ok": "gate"}),
        step("gate", gate=GateConfig("Plan", review="review"), next={"ok": None, "fail": "fix"}),
        step("fix", next={"ok": fix, "fail": "review"}),
    )

    assert advice(definition) == expected


@pytest.mark.parametrize(("file", "codes"), [("src/a.py", ["FR186"]), ("docs/a.md", []), ("$work/a.md", [])])
def test_evidence_that_the_step_forbids_to_produce_is_found(file: str, codes: list[str]) -> None:
    evidence = {"ok": [Evidence("plan", file=file, changed=True)]}
    definition = workflow(step("a", evidence=evidence, forbids=["Edit(src/**)"]))

    assert [code for code, _ in advice(definition)] == codes


def test_a_loop_without_a_limit_names_the_transition_and_the_step_that_needs_one() -> None:
    (finding,) = check(loop(None), advice=True)

    assert finding.message == "`fail` of step `look` leads back to `look` without a limit"
    assert finding.remedy == "add a `limit` to step `look`, such as `limit: 3`"
