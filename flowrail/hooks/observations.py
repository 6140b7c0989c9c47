"""Record a command that an agent ran itself, if it is evidence of the current step of its session."""

from __future__ import annotations

import os
from contextlib import suppress

from flowrail.discovery.locations import skill_roots
from flowrail.errors import FlowError
from flowrail.hooks.environment import Hook
from flowrail.hooks.fast_lookup import SessionGlance
from flowrail.hosts.protocol import EVENTS, POST_TOOL_USE, POST_TOOL_USE_FAILURE
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import World
from flowrail.operations.running.evidence_records import ObservedCommand
from flowrail.operations.running.evidence_records import observe as record
from flowrail.skills.loader import Loader
from flowrail.storage.files import LockTimeoutError
from flowrail.storage.ownership import Owner

_WAIT = 5.0


def observe(glance: SessionGlance, command: str, hook: Hook) -> None:
    """Record *command*, which has ended. A session that cannot be read or is busy gets no record."""
    failed = not hook.input.response
    observed = ObservedCommand(
        line=command,
        folder=hook.input.cwd,
        succeeded=not failed,
        output=hook.input.error if failed else _output(hook),
        seconds=hook.input.seconds,
        event=EVENTS[POST_TOOL_USE_FAILURE if failed else POST_TOOL_USE],
    )
    store = Store(glance.folder.path, Owner(hook.state), named=glance.folder.named)
    world = World(
        store=store,
        loader=Loader(skill_roots(os.path.dirname(glance.folder.path), hook.home, hook.environ), hook.state),
        now=hook.now,
        by="hook",
        shown_store=glance.folder.named,
        wait=_WAIT,
        cwd=hook.input.cwd,
        environ=hook.environ,
    )
    with suppress(FlowError, LockTimeoutError):
        record(world, glance.id, observed)


def _output(hook: Hook) -> str:
    """Return what a command printed: `flow evidence run` looks at both streams, too."""
    printed = (str(hook.input.response.get(stream) or "") for stream in ("stdout", "stderr"))
    return "\n".join(text for text in printed if text)
