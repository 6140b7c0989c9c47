"""Receive a handoff, and start the session of a target that has a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.handoff.arrival import ReceiveRequest
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.payload.document import Payload, text_at
from flowrail.handoff.receiving import Receipt, TargetWorkflow, parameters_from, receive
from flowrail.machines.engine.advance import LONGEST_TOPIC, start
from flowrail.machines.engine.reports import read_values
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import ReceivedWork
from flowrail.machines.sessions.store import definition_bytes
from flowrail.operations.environment import OpenedWorkflow, World
from flowrail.operations.running import session_files
from flowrail.operations.running.load_workflow import open_skill
from flowrail.operations.running.steps import Answer, look, prepare_answer
from flowrail.skills.catalog import UnknownSkillError
from flowrail.text.safe_text import shortened


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

    def find_workflow(payload: Payload) -> TargetWorkflow | None:
        skill = text_at(payload.handoff, "target.skill") or text_at(payload.handoff, "consumer")
        try:
            workflow = open_skill(skill, world.roots, world.state)
        except UnknownSkillError:
            return None
        definition_bytes(workflow.kept)  # refuse a workflow that is too large before the claim

        def start_session(session_id: str, payload: Payload, received: ReceivedWork) -> None:
            values = {
                **parameters_from(workflow.workflow.params, payload),
                **read_values(params or {}, workflow.workflow.params),
            }
            started.append(_start_session(world, workflow, session_id, values, received))

        return TargetWorkflow(start_session, lambda: world.store.new_id(skill))

    receipt = receive(context, ReceiveRequest(path, digest, force), find_workflow)
    if receipt.session and not started:  # an earlier receiver was interrupted after it started the session
        started.append(look(world, receipt.session))
    return ReceivedHandoff(receipt, started[0] if started else None)


def _start_session(
    world: World,
    opened: OpenedWorkflow,
    session_id: str,
    params: Mapping[str, object],
    received: ReceivedWork,
) -> Answer:
    now = world.now()
    work = session_files.new_folder(world, opened.workflow, session_id)
    session = start(opened.workflow, params, session_id=session_id, source=opened.source, now=now, work=work)
    topic = session.topic or shortened(received.summary, LONGEST_TOPIC)
    session = session._replace(received=received, topic=topic).bound_to(world.host)
    session = session_files.on_this_machine(world, session)
    answer = prepare_answer(world, session, opened)  # before the session exists: a text may be refused
    note: RecordNote = {"handoff": received.handoff, "sha256": received.sha256}
    stored = world.store.create(session, opened.kept, at=now, by=world.by, note=note)
    session_files.make(world, session)
    return answer.with_head(stored.head)
