"""What sessions need of the environment in which a command, a tool call or a program runs."""

# Without `from __future__ import annotations`: texts would be compiled at every start.

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from flowrail.discovery.locations import Root
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import Environment


class World(NamedTuple):
    """What the operations on sessions need. *shown_store* is named in every printed command.

    *host* is the conversation of the agent's host that the command was called in, if there is one. *workflows*
    are those of the calling Python program, by name. *cwd* and *environ* are those of the caller, for evidence. Without
    *demands_evidence*, as when a workflow is walked through, all checks count as passed, or with
    *lacks_evidence* as not passed.
    """

    store: Store
    roots: Sequence[Root]
    state: str
    now: Callable[[], str]
    by: str
    shown_store: str | None = None
    wait: float = 10.0
    host: str | None = None
    workflows: Mapping[str, Workflow] = Frozen()
    cwd: str = ""
    environ: Mapping[str, str] = Frozen()
    demands_evidence: bool = True
    lacks_evidence: bool = False


def world_of(environment: Environment, *, wait: float) -> World:
    """Return what sessions need. A call waits *wait* seconds for a session that another process holds."""
    return World(
        store=environment.store,
        roots=environment.roots,
        state=environment.state,
        now=lambda: environment.now,
        by=environment.by,
        shown_store=environment.shown_store,
        wait=wait,
        host=environment.conversation,
        cwd=environment.cwd,
        environ=environment.environ,
    )
