"""Kept sessions replayed, one after the other, and what came of it told."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from flowrail.errors import FlowError, TrustError, alone
from flowrail.formatters.guidance.as_text import table
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.sessions.journal import UnknownSessionError
from flowrail.machines.sessions.store import SESSION_ID
from flowrail.operations.running.open_workflow import open_skill
from flowrail.operations.running.steps import World
from flowrail.skills.catalog import find, workflow_file
from flowrail.testing.record.replay import Parting, replay
from flowrail.testing.record.script import Script, script
from flowrail.testing.walks.report import paragraph

SAME, PARTS, SKIPPED = "same", "parts", "skipped"
NAMED = "(by its id)"


class Replayed(NamedTuple):
    """What became of one session; ``why`` tells of one that was not replayed."""

    session: str
    skill: str = ""
    turns: int = 0
    parting: Parting | None = None
    why: str = ""

    @property
    def status(self) -> str:
        """The same in one word."""
        return SKIPPED if self.why else PARTS if self.parting else SAME


def every(world: World, targets: Sequence[str], *, call: Call = call_plainly) -> Iterator[Replayed]:
    """Yield what became of each session of *targets*, ids or workflows; of all without any."""
    opened: dict[str, Workflow | FlowError] = {}
    for session_id, skill in _chosen(world, targets):
        named = skill == NAMED
        try:
            if world.store.origin(session_id)[1]:
                raise world.store.foreign(session_id)
            recorded = script(world.store, session_id)
        except UnknownSessionError:
            if named:
                raise
            continue  # its start was interrupted: it never began
        except FlowError as error:
            if named:
                raise
            yield Replayed(session_id, why=f"{error.message} [{error.code}]")
            continue
        if skill in {NAMED, None, recorded.skill}:
            yield _replayed(world, recorded, opened, call)


def text(results: Sequence[Replayed]) -> str:
    """Return *results* as a table, and for each that parts from what was, where."""
    if not results:
        return "no session to replay"
    rows = [[each.session, str(each.turns), each.status] for each in results]
    parts = [table(["session", "turns", "result"], rows)]
    parts += [paragraph(each.session, each.parting.told) for each in results if each.parting]
    parts += [paragraph(each.session, each.why) for each in results if each.why]
    counts = {word: sum(each.status == word for each in results) for word in (SAME, PARTS, SKIPPED)}
    parts.append(", ".join(f"{count} {word}" for word, count in counts.items() if count))
    return "\n\n".join(parts)


def data(results: Sequence[Replayed]) -> dict[str, Any]:
    """Return *results* as plain data."""
    return {
        "replays": [
            {
                "session": each.session,
                "skill": each.skill,
                "status": each.status,
                "turns": each.turns,
                "at": each.parting._asdict() if each.parting else None,
                "why": each.parting.told if each.parting else each.why,
            }
            for each in results
        ]
    }


def _chosen(world: World, targets: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the ids of sessions, each with the workflow that it was looked for by."""
    if not targets:
        yield from ((each, None) for each in world.store.ids())
    for target in targets:
        if SESSION_ID.match(target) and os.path.isdir(world.store.folder(target)):
            yield target, NAMED
            continue
        workflow_file(target, find(target, world.roots))  # no skill and no session: refused
        stem = target.replace("/", "-") + "-"
        yield from ((each, target) for each in world.store.ids() if each.startswith(stem))


def _replayed(
    world: World, recorded: Script, opened: dict[str, Workflow | FlowError], call: Call
) -> Replayed:
    if recorded.skill not in opened:
        try:
            opened[recorded.skill] = open_skill(recorded.skill, world.roots, world.state).workflow
        except FlowError as error:
            opened[recorded.skill] = alone(error)
    workflow = opened[recorded.skill]
    about = Replayed(recorded.session, recorded.skill, len(recorded.turns))
    if isinstance(workflow, TrustError):
        return about._replace(why=f"{workflow.message}; {workflow.hint}")
    if isinstance(workflow, FlowError):
        gone = Parting(0, None, "", recorded.entry, None, f"{workflow.message} [{workflow.code}]")
        return about._replace(parting=gone)
    return about._replace(parting=replay(workflow, recorded, call=call))
