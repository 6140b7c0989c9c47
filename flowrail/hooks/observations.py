"""Note the shell commands that an agent runs in a step, for the briefing after a compaction."""

from __future__ import annotations

import os

from flowrail.evidence import shell_history
from flowrail.hooks.fast_lookup import SessionGlance
from flowrail.hooks.hook import Hook


def observe(glance: SessionGlance, command: str, hook: Hook) -> None:
    """Note *command*, which has ended, in the folder of the session."""
    folder = os.path.join(glance.folder.path, "sessions", glance.id)
    status = 0 if hook.input.response else None
    shell_history.record(folder, command, step_entered=glance.moved_at, at=hook.now(), status=status)
