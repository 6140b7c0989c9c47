"""No state of a bundled workflow prints no command: agents may be lost, fail or wait for the user at every dispatch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from support.simulated_agents import read

from flowrail import load_workflow
from flowrail.discovery.locations import bundled_folder
from flowrail.formatters.guidance import step_output
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.guide import guide
from flowrail.machines.session import BY_AGENT, AskedQuestion, Session
from flowrail.machines.transition import entered
from flowrail.machines.workflow import Workflow
from flowrail.session_status import ABANDONED, ACTIVE, COMPLETED, FAILED, WAITING

STATUSES = ("pending", ACTIVE, WAITING, COMPLETED, FAILED, ABANDONED)


def addresses() -> Iterator[str]:
    for file in sorted(Path(bundled_folder()).glob("*/workflow*/*.yaml")):
        yield f"{file.parents[1].name}/{file.stem}"
    for file in sorted(Path(bundled_folder()).glob("*/workflow.yaml")):
        yield file.parent.name


def child(session: str, status: str) -> Session:
    asks = (AskedQuestion("which", "", "Which one?", source=BY_AGENT),) if status == WAITING else ()
    return Session(
        session, "x", "first" if status in {ACTIVE, WAITING} else None, status=status, questions=asks
    )


def at_dispatch(workflow: Workflow, step_id: str) -> Session:
    work = workflow.step(step_id).work
    assert work is not None
    state = {work.over: ("1", "2")} if isinstance(work.over, str) else {}
    given = {name: arg.sample() for name, arg in workflow.params.items()}
    begun = Session("x-abc234", workflow.name, step_id, params=Frozen(given), state=Frozen(state))
    return entered(workflow, begun)


@pytest.mark.parametrize("address", list(addresses()))
def test_every_state_of_the_agents_of_a_step_prints_a_command(address: str) -> None:
    workflow = load_workflow(address)
    for step in workflow.steps:
        if step.work is None:
            continue
        session = at_dispatch(workflow, step.id)
        first, *others = (dispatch.child for dispatch in session.dispatches)
        for one, rest in product(STATUSES, STATUSES):
            statuses = {first: one, **dict.fromkeys(others, rest)}
            children = {name: child(name, status) for name, status in statuses.items() if status != "pending"}

            shown = read(step_output.xml(guide(workflow, session, place="/store", children=children)))

            commands = [case.command for case in shown.cases if not case.waits]
            if not shown.met:
                commands += [work.command for work in shown.work if work.status not in {COMPLETED, WAITING}]
            commands += [question.id for question in shown.questions]
            assert any(commands), (step.id, statuses)
