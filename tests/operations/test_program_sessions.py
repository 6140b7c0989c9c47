"""Sessions in a Python program: the same sessions as those of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from support.sandbox import (
    ASKING,
    flow,
    put_skill,
    refused,
)

from flowrail import (
    Arg,
    ChangedError,
    ConflictError,
    Dispatch,
    FlowError,
    Option,
    Outcome,
    Question,
    StepDef,
    UsageError,
    Workflow,
    load_workflow,
    open_store,
    to_mermaid,
    to_svg,
)
from flowrail.machines import OutcomeNotOpenError, SessionEndedError, ValuesError

ASK_USER = """\
name: NAME
steps:
  - id: ask
    title: Ask
    actions: [Ask.]
    questions: [{id: go, header: Go, text: "Go on?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]}]
    next: {ok: tell, fail: null}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""
TEAM = """\
name: NAME
steps:
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, prompt: steps/work.md, over: [a, b]}
    next: {ok: null}
"""


def poll(limit: int = 5, text: str = "Ask one more person.") -> Workflow:
    return Workflow(
        "poll",
        StepDef(
            "ask",
            "Ask",
            [text],
            enough,
            reports={"answers": Arg(type="integer", required=True)},
            limit=limit,
            next={Outcome.OK: None, Outcome.ITERATE: "ask"},
        ),
    )


def enough(ctx: object) -> Outcome:
    return Outcome.OK if ctx.step_state["answers"] >= 3 else Outcome.ITERATE  # type: ignore[attr-defined]


# --- the same sessions as on the command line


def test_a_program_runs_a_session_from_start_to_end() -> None:
    put_skill("small", ASKING)
    workflow = load_workflow(".claude/skills/small")
    store = open_store(".flow")

    first = store.start(workflow, {"topic": "pools"})
    second = store.report(first, "done", {"sure": "high", "where": ["src"]}, note="two pools")
    last = store.report(second, Outcome.OK)

    assert (first.skill, first.topic, first.status, first.revision) == ("small", "pools", "active", 0)
    assert first.step is not None
    assert (first.step.title, first.instructions) == ("Look at pools", "Look at it, 3 times.")
    assert [(offer.outcome, offer.facts, [*offer.wants]) for offer in first.next] == [
        ("done", {"sure": "low"}, ["where", "note"]),
        ("done", {"sure": "high"}, ["where", "note"]),
    ]
    assert (second.instructions, second.facts) == (
        "Sure: high, where: src.",
        {"sure": "high", "where": ("src",)},
    )
    assert (last.status, last.step, last.next, last.is_open) == ("completed", None, (), False)
    assert [record.kind for record in store.history(last)] == ["start", "move", "move"]
    assert [listed.session for listed in store.list(ended=True)] == [first.id]
    assert store.list() == ()


def test_a_workflow_is_loaded_by_its_folder_or_its_name() -> None:
    folder = put_skill("small")
    elsewhere = put_skill("other", where=Path.cwd() / "more")

    assert load_workflow("small") == load_workflow(folder)
    assert load_workflow(elsewhere).folder == str(elsewhere)
    assert open_store().start(load_workflow(elsewhere)).step is not None
    assert load_workflow("problem-analysis").total_steps == 5


# --- refusals


def test_errors_have_types_and_show_their_hint() -> None:
    put_skill("small", ASKING)
    put_skill("ask", ASK_USER)
    store = open_store()
    session, asking = store.start("small"), store.start("ask")
    done = store.report(store.report(session, "done", {"sure": "high", "where": ["x"]}), "ok")
    errors: list[FlowError] = []

    for wrong, expected in (
        (lambda: store.start("small", {"size": 99}), ValuesError),
        (lambda: store.start("small", {"sise": 9}), ValuesError),
        (lambda: store.start("smal"), UsageError),
        (lambda: store.report(store.start("small"), "done"), ValuesError),
        (lambda: store.report(store.start("small"), "done", {"sure": "…", "where": []}), UsageError),
        (lambda: store.report(store.start("small"), "iterate"), OutcomeNotOpenError),
        (lambda: store.report(store.start("small"), "great"), UsageError),
        (lambda: store.report(store.start("small"), "iterate", note="x" * 2_000), UsageError),
        (lambda: store.report(done, "ok"), SessionEndedError),
        (lambda: store.resume("small-xxxxxx"), UsageError),
        (lambda: store.answer(done, {"go": "Yes"}), ConflictError),
        (lambda: store.answer(asking, {"go": "Perhaps"}), UsageError),
        (lambda: store.report(asking, "done"), ConflictError),
        (lambda: store.child(asking, 1), FlowError),
        (lambda: open_store("mysql://here/there").list(), UsageError),
    ):
        with pytest.raises(expected) as caught:
            wrong()
        errors.append(caught.value)

    for error in errors:
        assert error.code != "FAILED"
        assert str(error.hint) in "".join(traceback.format_exception(error))


# --- workflows that a program defines


def test_only_a_program_that_has_the_functions_continues_a_workflow_with_functions() -> None:
    session = open_store().start(poll())

    status, error = refused("step", "poll", "done", "-s", "answers=3", "--session", session.id)
    assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
    with pytest.raises(ChangedError):
        open_store().resume(session.id)
    store = open_store(workflows=[poll()])
    session = store.report(store.resume(session.id), "done", {"answers": 1})
    session = store.report(session, "done", {"answers": 3})
    assert session.status == "completed"


def test_agents_run_workflows_of_the_program() -> None:
    look = Workflow("audit/look", StepDef("look", "Look", ["Look."], next={Outcome.OK: None}))
    audit = Workflow(
        "audit",
        StepDef(
            "hand",
            "Hand out",
            ["Hand it out."],
            dispatch=Dispatch("explore", "audit/look"),
            next={"ok": None},
        ),
    )
    store = open_store(workflows=[look, audit])
    session = store.start(audit)

    child = store.child(session, 1)
    question = Question("which", "Which", "Which one?", options=[Option("This"), Option("That")])
    waiting = store.ask(child, [question])
    store.answer(waiting, {"which": "This"})

    assert waiting.status == "waiting"
    assert child.instructions.startswith("Look.")
    assert store.report(child, "ok").status == "completed"
    assert store.report(store.resume(session), "ok").status == "completed"


# --- the other operations


def test_work_is_done_in_child_sessions() -> None:
    put_skill("team", TEAM, texts={"steps/work.md": "Look at $item."})
    store = open_store()
    session = store.start("team")

    store.report(store.child(session, 1), "ok", {"seen": 3})
    store.abandon(store.child(session, 2), "not needed")

    assert [(dispatch.status, dispatch.result) for dispatch in store.resume(session).dispatches] == [
        ("completed", {"seen": 3}),
        ("abandoned", {}),
    ]


# --- pictures


def test_workflows_and_sessions_are_drawn() -> None:
    put_skill("small")
    store = open_store()
    workflow = load_workflow("small")
    session = store.report(store.start(workflow), "ok")

    assert to_mermaid(workflow) == flow("diagram", "small").out.rstrip("\n")
    assert to_mermaid(session) == flow("diagram", "--session", session.id).out.rstrip("\n")
    assert to_svg(workflow) != to_svg(session)


def test_a_program_without_a_home_or_a_project_can_use_a_store(tmp_path: Path) -> None:
    program = (
        "from flowrail import open_store, Workflow, StepDef\n"
        "w = Workflow('one', StepDef('a', 'A', ['Do it.'], next={'ok': None}))\n"
        f"s = open_store({str(tmp_path / 'store')!r})\n"
        "print(s.report(s.start(w), 'ok').status)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("completed\n", "")
