"""Receive a handoff, and start the session of a target that has a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.handoff.arrival import ReceiveRequest
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.payload.document import Payload
from flowrail.handoff.receiving import Receipt, TargetWorkflow, parameters_from, receive
from flowrail.machines.engine.reports import read_values
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import ReceivedWork
from flowrail.machines.sessions.store import definition_bytes
from flowrail.operations.environment import World
from flowrail.operations.running.load_workflow import open_skill
from flowrail.operations.running.steps import Answer, look, start_session
from flowrail.skills.catalog import UnknownSkillError


class ReceivedHandoff(NamedTuple):
    """The receipt, and the first step of the target's session if it has a workflow."""

    receipt: Receipt
    answer: Answer | None


def receive_handoff(
    context: HandoffContext,
    world: World,
    path: str,
    *,
    digest: str = "",
    force: bool = False,
    params: Mapping[str, object] | None = None,
) -> ReceivedHandoff:
    """Receive the payload at *path*. *params* take precedence over the payload's values."""
    started: list[Answer] = []

    def find_workflow(skill: str) -> TargetWorkflow | None:
        try:
            opened = open_skill(skill, world.loader)
        except UnknownSkillError:
            return None
        definition_bytes(opened.definition)  # refuse a workflow that is too large before the claim

        def start(session_id: str, payload: Payload, received: ReceivedWork) -> None:
            values = {
                **parameters_from(opened.workflow.params, payload),
                **read_values(params or {}, opened.workflow.params),
            }
            note: RecordNote = {"handoff": received.handoff, "sha256": received.sha256}
            answer = start_session(world, opened, session_id, values, received=received, note=note)
            started.append(answer)

        return TargetWorkflow(start, lambda: world.store.new_id(skill))

    receipt = receive(context, ReceiveRequest(path, digest, force), find_workflow)
    if receipt.session and not started:  # an earlier receiver was interrupted after it started the session
        started.append(look(world, receipt.session))
    return ReceivedHandoff(receipt, started[0] if started else None)
