"""Warnings about workflows that work, but not as the author meant: no false findings, none missing."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflows import loop, step, workflow

from flowrail import Report, advance, start
from flowrail.machines.checks.check import check
from flowrail.machines.demanded_evidence import Evidence, StepCommand
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow

NOTE = {"note": Arg(required=True)}
MODE = {"mode": Arg(choices=("quick", "full"), default="full")}


def advice(definition: Workflow) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.step) for finding in check(definition, advice=True)]


@pytest.mark.parametrize(
    ("parts", "codes"),
    [
        ({"title": "About $note"}, ["FR126"]),
        ({"variants": [("mode == 'full'", "About $note.")]}, ["FR126"]),
        ({"dispatch": Dispatch("explore", "x", None, {"about": "$note"})}, ["FR126"]),
        ({"when": "note == 'x'", "next": {"ok": "last"}}, ["FR126"]),
        ({"actions": ["About $$note and $mode, time $visit."]}, []),
        ({"reports": NOTE, "rules": [("ok", "note == 'x'"), ("ok", None)]}, []),
    ],
)
def test_a_fact_is_read_only_after_a_step_that_reports_it(parts: dict[str, Any], codes: list[str]) -> None:
    reading = step("reads", **{"next": {"ok": "last"}, **parts})
    early = workflow(step("first", next={"ok": "reads"}), reading, step("last", reports=NOTE), params=MODE)
    late = workflow(step("first", reports=NOTE, next={"ok": "reads"}), reading, step("last"), params=MODE)

    assert advice(early) == [(code, "reads") for code in codes]
    assert advice(late) == []


@pytest.mark.parametrize("limited", ["a", "b", None])
def test_a_loop_needs_a_limit_on_the_step_that_leads_back(limited: str | None) -> None:
    definition = workflow(
        step("a", next={"ok": "b"}, limit=3 if limited == "a" else None),
        step("b", next={"ok": None, "fail": "a"}, limit=3 if limited == "b" else None),
    )

    idle = [("FR164", "a")] if limited == "a" else []
    assert advice(definition) == ([] if limited == "b" else [*idle, ("FR163", "b")])
    session = start(definition)
    while session.status == "active" and session.revision < 20:
        for outcome in ("ok", "fail"):
            session = advance(definition, session, Report(outcome))
    assert (session.status == "waiting") is (limited == "b")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("As step `last` says.", []),
        ("As the `last` step says.", []),
        ("As step `lost` says.", ["FR166"]),
        ("As the `lost` step says.", ["FR166"]),
        ("See steps `first` and `lost`.", []),
        ("Report `ok`.", []),
        ("Report `done`.", ["FR167"]),
        ("Report `fail`.", ["FR167"]),
        ("The outcome `better` is best.", ["FR167"]),
        ("Report **size** and **note**.", ["FR181", "FR181"]),
        ("```\nReport `done` of step `lost`.\n```", []),
        ("```flow:actions\n- Look\n```\nReport `done` of step `lost`.", ["FR166", "FR167"]),
        ("The word `done` alone, and a step in prose.", []),
        ("Run `flow run tests` and `flow run tests --session $session`.", []),
        ("Run `flow run test`.", ["FR189"]),
    ],
)
def test_texts_may_only_name_what_the_workflow_has_and_the_step_accepts(text: str, codes: list[str]) -> None:
    tests = {"tests": StepCommand(["pytest"])}
    steps = step("first", actions=[text], commands=tests, next={"ok": "last"}), step("last")
    variants = [("mode == 'full'", text)]
    variant = step("first", variants=variants, commands=tests, next={"ok": "last"}), step("last")

    assert [code for code, _ in advice(workflow(*steps))] == codes
    assert [code for code, _ in advice(workflow(*variant, params=MODE))] == codes


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
