"""Functions of authors under a command have a time limit and cannot write into the answer."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest
from support.sandbox import bytes_below, home_skills, put_skill, refused, sessions_folder, told

from flowrail.machines.definition.step import StepContext
from flowrail.machines.engine import outcome
from flowrail.machines.engine.outcome import HandlerTimeoutError, call_limited

HERE = StepContext("first")


def test_what_a_function_prints_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    call_limited(lambda _: print("printed"), HERE, {})  # noqa: T201 - that is what is tried

    assert capsys.readouterr() == ("", "printed\n")


def test_a_function_that_takes_too_long_is_stopped() -> None:
    def hang(_: StepContext) -> None:
        while True:
            pass

    begun = time.monotonic()
    with pytest.raises(HandlerTimeoutError, match=r"hang` took more than 0\.05 seconds") as caught:
        call_limited(hang, HERE, {}, seconds=0.05)

    assert time.monotonic() - begun < 30
    assert (caught.value.code, caught.value.exit_status) == ("HANDLER_TIMEOUT", 1)


def test_a_function_that_waits_is_stopped() -> None:
    with pytest.raises(HandlerTimeoutError):
        call_limited(lambda _: time.sleep(30), HERE, {}, seconds=0.05)


def test_a_function_that_catches_everything_is_stopped_all_the_same() -> None:
    def stubborn(_: StepContext) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with suppress(Exception):
                time.sleep(60)

    begun = time.monotonic()
    with pytest.raises(HandlerTimeoutError):
        call_limited(stubborn, HERE, {}, seconds=0.05)
    assert time.monotonic() - begun < 30


def test_in_a_thread_a_function_is_called_without_an_alarm() -> None:
    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(call_limited(lambda ctx: ctx.step_id, HERE, {})))

    thread.start()
    thread.join()

    assert done == ["first"]


# --- functions that tell, and the module that holds them

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


@pytest.mark.parametrize(
    "part",
    [{"TITLE": "hang"}, {"ACTIONS": "hang"}, {"WHEN": "hang"}],
    ids=lambda part: next(iter(part)),
)
def test_a_function_that_tells_is_stopped_too_and_nothing_moves(
    part: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(**part)
    monkeypatch.setattr(outcome, "HANDLER_SECONDS", 0.2)
    told("step", "slow")
    before = bytes_below(sessions_folder(), but={"lock"})

    status, error = refused("step", "slow", "ok", "--expect", "0")

    assert (status, error["code"]) == (1, "HANDLER_TIMEOUT")
    assert error["message"] == "`hang` took more than 0.2 seconds"
    assert bytes_below(sessions_folder(), but={"lock"}) == before


def test_a_module_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    told("step", "slow")
    folder = put_skill("slow", "while True:\n    pass\n", where=home_skills(), file="workflow.py")
    monkeypatch.setattr(outcome, "HANDLER_SECONDS", 0.2)

    for words in (["start", "slow"], ["step", "slow", "ok"]):
        status, error = refused(*words)
        assert (status, error["code"]) == (1, "HANDLER_TIMEOUT")
        assert error["message"] == f"`{folder / 'workflow.py'}` took more than 0.2 seconds"
