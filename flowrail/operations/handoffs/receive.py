"""Receive a handoff, and start the session of a target that has a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowrail.command import Command, Hint
from flowrail.handoff.arrival import ReceiveRequest
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.payload.document import Payload
from flowrail.handoff.receiving import Receipt, TargetWorkflow, parameters_from, receive
from flowrail.machines.engine.reports import ValuesError, check_params, read_values
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import ReceivedWork
from flowrail.machines.sessions.store import check_size
from flowrail.operations.environment import World
from flowrail.operations.running.load_workflow import open_skill
from flowrail.operations.running.steps import Answer, look, start_session
from flowrail.skills.catalog import UnknownSkillError


@dataclass(frozen=True)
class ReceivedHandoff:
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
    root: str = "",
) -> ReceivedHandoff:
    """Receive the payload at *path*. *params* take precedence over the payload's values.

    *root* is the folder that the caller named for the target.
    """
    started: list[Answer] = []

    def find_workflow(skill: str) -> TargetWorkflow | None:
        try:
            opened = open_skill(skill, world.loader)
        except UnknownSkillError:
            return None
        workflow = opened.workflow

        def values_of(payload: Payload) -> dict[str, object]:
            given = read_values(params or {}, workflow.params)
            return {**parameters_from(workflow.params, payload), **given}

        def check(payload: Payload) -> None:
            check_size(opened.definition)  # refuses a workflow that is too large
            values = values_of(payload)
            try:
                check_params(workflow, values)
            except ValuesError as error:
                lacking = [
                    name for name, arg in workflow.params.items() if arg.required and name not in values
                ]
                error.hint = Hint("receive it with: ", again(lacking)) if lacking else error.hint
                raise

        def start(session_id: str, payload: Payload, received: ReceivedWork) -> None:
            note: RecordNote = {"handoff": received.handoff, "sha256": received.sha256}
            values = values_of(payload)
            answer = start_session(world, opened, session_id, values, received=received, note=note)
            started.append(answer)

        return TargetWorkflow(check, start, lambda: world.store.new_id(skill))

    def again(lacking: list[str]) -> Command:
        values = {**(params or {}), **dict.fromkeys(lacking, "…")}
        return context.command(
            "handoff receive", path, sha256=digest or None, force=force, params=values, root=root
        )

    receipt = receive(context, ReceiveRequest(path, digest, force), find_workflow)
    if receipt.session and not started:  # an earlier receiver was interrupted after it started the session
        started.append(look(world, receipt.session))
    return ReceivedHandoff(receipt, started[0] if started else None)
