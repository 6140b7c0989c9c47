"""A command limits the time of an author's functions, and keeps their output out of the answer."""

from __future__ import annotations

import pytest
from support.sandbox import bytes_below, home_skills, put_skill, refused, sessions_folder, told

from flowrail.machines import outcome_decision
from flowrail.machines.step import StepContext

HERE = StepContext("first")


HANGING = """\
import time
from flowrail import StepDef, Workflow


def hang(ctx):
    time.sleep(30)


def skip_it(ctx):
    HERE


WORKFLOW = Workflow(
    "NAME",
    StepDef("first", "First", ["Do."], next={"ok": "second"}),
    StepDef("second", TITLE, ACTIONS, when=WHEN, next={"ok": "third", "skip": "third"}),
    StepDef("third", "Third", ["Do."], next={"ok": None}),
)
"""
PLAIN = {"TITLE": '"Second"', "ACTIONS": '["Do."]', "WHEN": "None", "HERE": "return True"}


def write(**parts: str) -> None:
    text = HANGING
    for name, part in {**PLAIN, **parts}.items():
        text = text.replace(name, part)
    put_skill("slow", text, where=home_skills(), file="workflow.py")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an alarm in a destructor
@pytest.mark.parametrize(
    "part",
    [{"TITLE": "hang"}, {"ACTIONS": "hang"}, {"WHEN": "hang"}],
    ids=lambda part: next(iter(part)),
)
def test_a_function_that_tells_is_stopped_too_and_nothing_moves(
    part: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(**part)
    monkeypatch.setattr(outcome_decision, "HANDLER_SECONDS", 0.2)
    told("step", "slow")
    before = bytes_below(sessions_folder(), but={"lock"})

    status, error = refused("step", "slow", "ok", "--expect", "0")

    assert (status, error["code"]) == (1, "HANDLER_TIMEOUT")
    assert error["message"] == "`hang` took more than 0.2 seconds"
    assert bytes_below(sessions_folder(), but={"lock"}) == before


def test_a_module_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    session = told("step", "slow")["session"]
    folder = put_skill("slow", "while True:\n    pass\n", where=home_skills(), file="workflow.py")
    monkeypatch.setattr(outcome_decision, "HANDLER_SECONDS", 0.2)

    for words, code in (
        (["step", "slow", "--new"], "NOT_LOADED"),
        (["session", "migrate", session], "DEFINITION_CHANGED"),
    ):
        error = refused(*words)[1]
        assert error["code"] == code
        assert error["message"].endswith(f"{folder / 'workflow.py'}: took more than 0.2 seconds")
