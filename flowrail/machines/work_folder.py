"""Where a session's working files are."""

from __future__ import annotations

WORK, NOTES_FILE = "work", "notes.md"
"""The folder for a session's working files, and the agent's notes in it."""


def default_work_folder(session_id: str) -> str:
    """Return the folder for a session's working files, from the root of the project whose store has it."""
    return f".flow/sessions/{session_id}/{WORK}"
