"""Record a command that an agent ran itself, if it is evidence of the current step of its session."""

from __future__ import annotations

import os
from contextlib import suppress

from flowrail.discovery.locations import skill_roots
from flowrail.errors import FlowError
from flowrail.hooks.environment import HookEnvironment
from flowrail.hooks.fast_lookup import SessionGlance
from flowrail.hosts.protocol import EVENTS, POST_TOOL_USE, POST_TOOL_USE_FAILURE, HookInput
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import World
from flowrail.operations.running.evidence_records import ObservedCommand
from flowrail.operations.running.evidence_records import observe as record
from flowrail.storage.files import LockTimeoutError
from flowrail.storage.ownership import Owner

_WAIT = 5.0


def observe(glance: SessionGlance, command: str, hook_input: HookInput, environment: HookEnvironment) -> None:
    """Record *command*, which has ended. A session that cannot be read or is busy gets no record."""
    failed = not hook_input.response
    observed = ObservedCommand(
        line=command,
        folder=hook_input.cwd,
        succeeded=not failed,
        output=hook_input.error if failed else _output(hook_input),
        seconds=hook_input.seconds,
        event=EVENTS[POST_TOOL_USE_FAILURE if failed else POST_TOOL_USE],
    )
    store = Store(glance.folder.path, Owner(environment.state), named=glance.folder.named)
    world = World(
        store=store,
        roots=skill_roots(os.path.dirname(glance.folder.path), environment.home, environment.environ),
        state=environment.state,
        now=environment.now,
        by="hook",
        shown_store=glance.folder.named,
        wait=_WAIT,
        cwd=hook_input.cwd,
        environ=environment.environ,
    )
    with suppress(FlowError, LockTimeoutError):
        record(world, glance.id, observed)


def _output(hook_input: HookInput) -> str:
    """Return what a command printed: `flow evidence run` looks at both streams, too."""
    printed = (str(hook_input.response.get(stream) or "") for stream in ("stdout", "stderr"))
    return "\n".join(text for text in printed if text)
