"""Warnings about workflows that work, but not as the author meant: no false findings, none missing."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflows import loop, step, unchecked, workflow

from flowrail import Report, advance, start
from flowrail.machines.checks.check import check_workflow
from flowrail.machines.demanded_evidence import Evidence, StepCommand
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.question import Option, Question
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow

NOTE = {"note": Arg(required=True)}
MODE = {"mode": Arg(choices=("quick", "full"), default="full")}


def advice(definition: Workflow) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.step) for finding in check_workflow(definition, advice=True)]


def reading(**parts: Any) -> Workflow:
    """Return a workflow whose last step reads `note`, which the first of two branches reports."""
    return workflow(
        step("a", next={"ok": "b", "skip": "c"}),
        step("b", reports=NOTE, next={"ok": "c"}),
        step("c", **parts),
        params=MODE,
    )


def test_warnings_are_given_on_request_and_not_with_errors() -> None:
    assert check_workflow(loop(None)) == []
    assert advice(loop(None)) == [("FR163", "look")]
    assert advice(unchecked(*loop(None).steps, entry="nosuch")) == [("FR101", None)]


@pytest.mark.parametrize(
    "parts",
    [
        {"title": "About $note"},
        {"actions": ["About $note."]},
        {"variants": [("mode == 'full'", "About $note.")]},
        {"dispatch": Dispatch("explore", "x", None, {"about": "$note"})},
        {"dispatch": Dispatch("explore", None, None, {}, prompt=("About $note.",))},
        {
            "questions": [
                Question("q", "Q", "About $note?", (Option("A", outcome="ok"), Option("B", outcome="ok")))
            ]
        },
    ],
)
def test_a_placeholder_without_a_value_on_some_path_is_found(parts: dict[str, Any]) -> None:
    assert advice(reading(**parts)) == [("FR161", "c")]


@pytest.mark.parametrize(
    "parts",
    [
        {"actions": ["About $$note and $mode, time $visit."]},
        {"variants": [("note == 'x'", "About $note.")]},
        {"rules": [("ok", "note == 'x'"), ("ok", None)]},
        {"when": "note == 'x'"},
        {"dispatch": Dispatch("explore", None, ("x",), {"what": "$item"}, prompt=("$what, $item",))},
    ],
)
def test_a_value_that_is_known_or_asked_about_is_not_found(parts: dict[str, Any]) -> None:
    assert advice(reading(**parts)) == []


def test_a_text_for_a_later_attempt_may_use_facts_of_the_first() -> None:
    again = [("visit > 1", "Not $note again.")]
    definition = workflow(step("a", reports=NOTE, limit=3, variants=again, next={"ok": None, "iterate": "a"}))
    first = workflow(
        step("a", reports=NOTE, limit=3, actions=["Not $note."], next={"ok": None, "iterate": "a"})
    )

    assert advice(definition) == []
    assert advice(first) == [("FR161", "a")]


def test_steps_under_one_condition_see_what_steps_under_it_reported() -> None:
    def definition_of(when: str) -> Workflow:
        return workflow(
            step("a", next={"ok": "b"}),
            step("b", when="mode == 'full'", reports=NOTE, next={"ok": "c"}),
            step("c", when=when, actions=["About $note."], next={"ok": "d"}),
            step("d", variants=[("mode == 'full'", "About $note.")]),
            params=MODE,
        )

    assert advice(definition_of("mode == 'full'")) == []
    assert advice(definition_of("mode != 'quick'")) == [("FR161", "c")]


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
    ("rules", "reports", "codes"),
    [
        ([("ok", "mode == 'full'"), ("iterate", None)], {}, ["FR173"]),
        ([("ok", "mode == 'full'"), ("iterate", None)], NOTE, ["FR173"]),
        ([("ok", "note == 'x'"), ("iterate", None)], NOTE, []),
        ([("ok", "visit > 2"), ("iterate", None)], {}, []),
        ([("iterate", None)], {}, []),
        ([("ok", "mode == 'full'"), ("fail", None)], {}, []),
    ],
)
def test_a_loop_must_change_the_facts_that_it_is_decided_by(
    rules: Any, reports: Any, codes: list[str]
) -> None:
    transitions = {"ok": None, "iterate": "a", "fail": None}
    used = {"ok", *(outcome for outcome, _ in rules)}
    definition = workflow(
        step(
            "a",
            rules=rules,
            reports=reports,
            limit=3,
            next={outcome: transitions[outcome] for outcome in transitions if outcome in used},
        ),
        params=MODE,
    )

    assert [code for code, _ in advice(definition) if code == "FR173"] == codes


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
        ("Run flow step dull ok now.", []),
        ("Run flow step dull fine now.", ["FR167"]),
        ("Run flow step other fine now.", []),
        ("```\nReport `done` of step `lost`.\n```", []),
        ("```flow:actions\n- Look\n```\nReport `done` of step `lost`.", ["FR166", "FR167"]),
        ("The word `done` alone, and a step in prose.", []),
    ],
)
def test_texts_may_only_name_existing_steps_and_accepted_outcomes(text: str, codes: list[str]) -> None:
    steps = step("first", actions=[text], next={"ok": "last"}), step("last")
    variant = step("first", variants=[("mode == 'full'", text)], next={"ok": "last"}), step("last")

    assert [code for code, _ in advice(workflow(*steps))] == codes
    assert [code for code, _ in advice(workflow(*variant, params=MODE))] == codes


def test_a_loop_without_a_limit_names_the_transition_and_the_step_that_needs_one() -> None:
    (finding,) = check_workflow(loop(None), advice=True)

    assert finding.message == "`fail` of step `look` leads back to `look` without a limit"
    assert finding.remedy == "add a `limit` to step `look`, such as `limit: 3`"


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


@pytest.mark.parametrize(("file", "codes"), [("src/a.py", ["FR186"]), ("docs/a.md", []), ("$work/a.md", [])])
def test_evidence_that_the_step_forbids_to_produce_is_found(file: str, codes: list[str]) -> None:
    evidence = {"ok": [Evidence("plan", file=file, changed=True)]}
    definition = workflow(step("a", evidence=evidence, forbids=["Edit(src/**)"]))

    assert [code for code, _ in advice(definition)] == codes
