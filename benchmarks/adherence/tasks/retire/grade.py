"""What a retired account must have left in the project. The tools write what they did to effects.log."""

from __future__ import annotations

from pathlib import Path


def grade(project: Path) -> dict[str, bool]:
    """Return each point and whether the project has it."""
    effects = (project / "effects.log").read_text().split()
    return {
        "exported, deleted and notified, in this order": effects == ["export", "delete", "notify"],
        "only this account is gone": (project / "accounts.txt").read_text() == "birch\n",
    }
