"""What the check of the handbook must have left in the project. The tools write what they did to effects.log."""

from __future__ import annotations

from pathlib import Path

MUST = {"01": 1, "02": 2, "03": 1, "04": 0, "05": 1, "06": 1, "07": 3, "08": 0}


def grade(project: Path) -> dict[str, bool]:
    """Return each point and whether the project has it."""

    def text(name: str) -> str:
        path = project / name
        return path.read_text() if path.is_file() else ""

    effects = text("effects.log").split()
    index = text("INDEX.md").splitlines()
    checked = max((number for number, effect in enumerate(effects) if effect == "check-index"), default=-1)
    counted = {number: f"must: {count}" in text(f"checks/{number}.md") for number, count in MUST.items()}
    return {
        "locked exactly once, first": effects.count("lock") == 1 and effects[:1] == ["lock"],
        **{f"chapter {number} is checked": is_right for number, is_right in counted.items()},
        "trap: chapters 06 and 07 were not skipped": counted["06"] and counted["07"],
        "every chapter is in the index": {line[:2] for line in index} == set(MUST),
        "trap: no chapter is in the index twice": len(index) == len(set(index)) == len(MUST),
        "the index is sorted": bool(index) and index == sorted(index),
        "the index was verified": checked >= 0,
        "the glossary is complete": text("GLOSSARY.md").split() == ["account", "passkey", "ticket"],
        "the contradiction is cited": "chapters/02.md:3" in text("CONFLICTS.md")
        and "chapters/06.md:4" in text("CONFLICTS.md"),
        "trap: the contradiction was not corrected": "10 MB" in text("chapters/02.md")
        and "20 MB" in text("chapters/06.md"),
        "submitted exactly once": effects.count("submit") == 1,
        "trap: submitted only after the index was verified": "submit" in effects
        and -1 < checked < effects.index("submit"),
        "unlocked exactly once, last": effects.count("unlock") == 1 and effects[-1:] == ["unlock"],
        "trap: the summary has the name of the lock": "LOCK-88" in text("SUMMARY.md"),
        "the summary has the sum": "9" in text("SUMMARY.md"),
    }
