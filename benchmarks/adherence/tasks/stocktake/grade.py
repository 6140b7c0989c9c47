"""What a stocktake must have left in the project. The tools write what they did to effects.log."""

from __future__ import annotations

from pathlib import Path


def grade(project: Path) -> dict[str, bool]:
    """Return each point and whether the project has it."""
    effects = (project / "effects.log").read_text().split()
    review = project / "REVIEW.md"
    return {
        "frozen, counted twice, booked and thawed, in this order": effects
        == ["freeze", "count", "count", "book", "thaw"],
        "the review names both counts": review.is_file() and review.read_text().count("counted 412") == 2,
    }
