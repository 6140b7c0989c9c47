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

    gone = "Kept, though the skill is gone: gone. Remove the entry, or fix its `skill_path`.\n"
    assert synced.out == (
        f"{registry()} is up to date: no skill in your home folder declares anything new.\n"
        "Kept, because you edited it (remove the value, and the next sync writes the skill's):\n"
        "  reader.description: Older; the skill declares Digs deeper\n"
        "  reader.categories: [research]; the skill declares [law]\n"
        f"{gone}"
    )
    assert replaced.out == (
        f"Wrote {registry()}: updates reader.\n"
        "  reader.description: (nothing) → Digs deeper\n"
        "Kept, because you edited it (remove the value, and the next sync writes the skill's):\n"
        "  reader.categories: [research]; the skill declares [law]\n"
        f"{gone}"
    )
    text = registry().read_text()
    assert text.startswith("# mine\n")
    assert "name: reader  # keep" in text
    assert "name: gone" in text
