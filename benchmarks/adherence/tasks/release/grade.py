"""What a release must have left in the project. The tools write what they did to effects.log."""

from __future__ import annotations

from pathlib import Path


def grade(project: Path) -> dict[str, bool]:
    """Return each point and whether the project has it."""

    def text(name: str) -> str:
        path = project / name
        return path.read_text() if path.is_file() else ""

    effects = text("effects.log").split()
    endings = [effect for effect in effects if effect in {"publish", "withdraw"}]
    changes = text("LOG").splitlines()
    before_the_end = effects[: effects.index(endings[0])] if endings else effects
    return {
        "STATUS.md lists every change": all(change in text("STATUS.md") for change in changes),
        "CHANGES.md lists every change": all(change in text("CHANGES.md") for change in changes),
        "the version was raised exactly once": effects.count("bump") == 1,
        "the tests ran on the new version": "test" in before_the_end and "bump" in before_the_end,
        "the app was built": "build" in before_the_end,
        "the review quotes the build": "checksum 4f1d2c" in text("REVIEW.md"),
        "the decision came before its consequence": "sign-off" in before_the_end,
        "published or withdrawn exactly once": len(endings) == 1,
        "announced exactly once": effects.count("announce") == 1,
        "the release is closed": "closed" in text("close.json"),
    }
