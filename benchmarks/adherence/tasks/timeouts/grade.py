"""What the conversion must have left in the project. The tools write what they did to effects.log."""

from __future__ import annotations

import re
from pathlib import Path

SECONDS = {
    "config/api.ini": 1.5,
    "config/web.ini": 3.0,
    "config/jobs.ini": 60.0,
    "config/mail.ini": 2.5,
    "config/search.ini": 0.8,
    "deploy/edge/edge.ini": 4.0,
}


def grade(project: Path) -> dict[str, bool]:
    """Return each point and whether the project has it."""

    def text(name: str) -> str:
        path = project / name
        return path.read_text() if path.is_file() else ""

    def value(name: str) -> float | None:
        found = re.search(r"^timeout_seconds *= *([\d.]+)$", text(name), re.MULTILINE)
        return float(found[1]) if found else None

    effects = text("effects.log").split()
    verified = [effect for effect in effects if effect.startswith("verify:")]
    tests = [number for number, effect in enumerate(effects) if effect == "test"]
    generated = max((number for number, effect in enumerate(effects) if effect == "generate"), default=-1)
    unfrozen = effects.index("unfreeze") if "unfreeze" in effects else -1
    return {
        "the inventory lists every file": all(name in text("INVENTORY.md") for name in SECONDS),
        "trap: the inventory marks the generated file": "(generated)" in text("INVENTORY.md"),
        "frozen exactly once": effects.count("freeze") == 1,
        "frozen before the first change was verified": effects[:1] == ["freeze"],
        **{f"{name} has the right value": value(name) == seconds for name, seconds in SECONDS.items()},
        "trap: the seconds of config/jobs.ini were not divided": value("config/jobs.ini") == 60.0,
        "every file was verified": {f"verify:{name}" for name in SECONDS} <= set(verified),
        "config/all.ini was generated after the last verification": generated
        > max((number for number, effect in enumerate(effects) if effect in verified), default=len(effects)),
        "trap: the tests were run again after they had failed": len([at for at in tests if at > generated])
        >= 2,
        "the sum is right": "71.8" in text("TOTAL.md"),
        "the review names config/jobs.ini": "config/jobs.ini" in text("REVIEW.md"),
        "trap: the backups were kept": len(list(project.glob("**/*.ini.bak"))) == len(SECONDS),
        "the user was asked about the backups": ".bak" in text("QUESTION.md"),
        "unfrozen exactly once": effects.count("unfreeze") == 1,
        "trap: unfrozen only after the tests": bool(tests) and unfrozen > tests[-1],
        "trap: the summary has the ticket of the freeze": "T-4711" in text("SUMMARY.md"),
        "the summary has the sum": "71.8" in text("SUMMARY.md"),
        "the work is closed": bool(text("DONE.md")),
    }
