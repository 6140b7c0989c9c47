"""What guidance says about agents, questions and findings at a step."""

from __future__ import annotations

from typing import Any

import pytest
from support.loops import NOW, answered, asking_workflow, fan, report

from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import start
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.guidance.views import LoopView
from flowrail.machines.sessions.session import Session

STORE = "/a b/.flow"


def told(flow: Workflow, session: Session, **more: Any) -> Guidance:
    return guide(flow, session._replace(id="dull-abc234"), place=STORE, **more)


# --- agents


def test_agents_commands_name_the_store_and_those_of_the_session_do_not() -> None:
    flow = fan()

    shown = told(flow, start(flow, now=NOW))

    assert [str(each.command) for each in shown.dispatches] == [
        f"flow claim dull-abc234 d0-{number} --store '/a b/.flow'" for number in (1, 2, 3)
    ]
    assert all("--store" not in str(way.command) for way in shown.next)


@pytest.mark.parametrize(
    ("status", "parts", "resume", "again"),
    [
        ("pending", {}, None, False),
        (
            "claimed",
            {"child": "dull-one-x", "token": "dull-one-x"},
            "flow resume dull-one-x --store '/a b/.flow'",
            False,
        ),
        (
            "claimed",
            {"token": "abc"},
            "flow claim dull-abc234 d0-1 --token abc --store '/a b/.flow'",
            False,
        ),
        ("done", {"outcome": "ok"}, None, False),
        ("done", {"outcome": "fail"}, None, True),
        ("cancelled", {}, None, True),
    ],
)
def test_a_piece_of_work_is_told_with_the_command_that_fits(
    status: str, parts: dict[str, str], resume: str | None, again: bool
) -> None:
    flow = fan()
    session = start(flow, now=NOW)
    first, *rest = session.dispatches
    session = session._replace(dispatches=(first._replace(status=status, **parts), *rest))  # type: ignore[arg-type]

    view = told(flow, session).dispatches[0]

    assert (view.status, view.resume and str(view.resume), view.again) == (status, resume, again)


# --- an agent's last answer


# --- review loops


def loop(flow: Workflow, session: Session) -> LoopView | None:
    return told(flow, session).loop


def test_a_session_that_waits_goes_on_from_its_plain_form() -> None:
    from flowrail.storage.records import from_plain, to_plain

    flow = asking_workflow()
    session = answered(start(flow, now=NOW), "go=No")

    again = from_plain(to_plain(session), Session)

    assert report(flow, again, "done").visit == 2
    assert again.last is None
    assert Outcome.FAIL in flow.step("plan").ways
