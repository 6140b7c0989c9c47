"""`flow registry` shows the optional file, what a sync would change in it, and its errors."""

from __future__ import annotations

from pathlib import Path

from support.sandbox import flow, home_skills
from support.skills import ACCEPTING, head, put


def registry() -> Path:
    return home_skills().parent / "handoff-registry.yaml"


def write(text: str) -> None:
    registry().parent.mkdir(parents=True, exist_ok=True)
    registry().write_text(text)


def test_a_sync_keeps_what_a_person_wrote_and_names_what_is_stale() -> None:
    put(home_skills(), "reader", head("reader", ACCEPTING.replace("[research]", "[law]")))
    write(
        '# mine\nversion: "1.0"\nworkflows:\n  - name: reader  # keep\n    description: Older\n'
        "    skill_path: ~/.claude/skills/reader/SKILL.md\n"
        '    handoff: {accepts_from: ["*"]}\n    categories: [research]\n'
        "  - name: gone\n    description: x\n    skill_path: ~/.claude/skills/gone/SKILL.md\n"
        '    handoff: {accepts_from: ["*"]}\n    categories: [x]\n'
    )

    synced = flow("registry", "sync")
    write(registry().read_text().replace("    description: Older\n", ""))
    replaced = flow("registry", "sync")

    gone = "  kept, though the skill is gone: gone\n"
    categories = "  kept reader.categories: [research], which you edited; the skill declares [law]\n"
    assert synced.out == (
        f"{registry()}: up to date\n"
        "  kept reader.description: Older, which you edited; the skill declares Digs deeper\n"
        f"{categories}{gone}"
    )
    assert replaced.out == (
        f"{registry()}: wrote reader\n  reader.description: (nothing) → Digs deeper\n{categories}{gone}"
    )
    text = registry().read_text()
    assert text.startswith("# mine\n")
    assert "name: reader  # keep" in text
    assert "name: gone" in text
