"""`flow registry` shows the optional file, what a sync would change in it, and its errors."""

from __future__ import annotations

import os
from pathlib import Path

from support.sandbox import flow, home_skills, refused, told
from support.skills import ACCEPTING, head, put

FAR = """\
  - name: far
    description: Far away
    skill_path: https://example.org/far/SKILL.md
    handoff: {accepts_from: ["*"], schema_version: "3.0"}
    categories: [research]
    tags: [slow]
"""


def registry() -> Path:
    return home_skills().parent / "handoff-registry.yaml"


def write(text: str) -> None:
    registry().parent.mkdir(parents=True, exist_ok=True)
    registry().write_text(text)


# --- show -----------------------------------------------------------------------------------------


def test_a_missing_registry_is_nothing_to_complain_about() -> None:
    ran = flow("registry", "show")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (f"No registry at {registry()}. It is optional: `flow registry sync` makes one.\n")
    data = told("registry", "show")
    assert (data["exists"], data["workflows"]) == (False, [])


def test_each_workflow_is_shown_with_who_said_what() -> None:
    put(home_skills(), "reader")
    write(
        'version: "1.0"\nworkflows:\n  - name: reader\n    description: Older\n'
        "    skill_path: ~/.claude/skills/reader/SKILL.md\n    priority: 2\n"
        '    handoff: {accepts_from: ["*"]}\n    categories: [research]\n' + FAR
    )

    out, data = flow("registry", "show").out, told("registry", "show")

    assert out == (
        f"{registry()} · 2 workflows\n\n"
        "reader  offered\n"
        "  Older\n"
        f"  {home_skills()}/reader/SKILL.md (entry in line 3)\n"
        "  from its SKILL.md: name, summary, accepts_from, categories, description\n"
        "  from the registry: priority\n"
        "  from the defaults: trigger, schema_version\n\n"
        "far  remote\n"
        "  Far away\n"
        "  https://example.org/far/SKILL.md (entry in line 9)\n"
        "  from the registry: name, summary, accepts_from, categories, schema_version, tags, description\n"
        "  from the defaults: trigger\n"
    )
    assert [(workflow["skill"], workflow["standing"]) for workflow in data["workflows"]] == [
        ("reader", "offered"),
        ("far", "remote"),
    ]
    assert data["workflows"][0]["origins"]["priority"] == "registry"
    assert data["workflows"][0]["origins"]["categories"] == "handoff.handoff_categories"


# --- sync -----------------------------------------------------------------------------------------


def test_a_sync_writes_it_and_a_second_one_has_nothing_to_do() -> None:
    put(home_skills(), "reader")

    first, second = flow("registry", "sync"), flow("registry", "sync")

    assert first.out == f"Wrote {registry()}: adds reader.\n"
    assert 'name: "reader"' in registry().read_text()
    assert second.out == f"{registry()} is up to date: no skill in your home folder declares anything new.\n"
    assert told("registry", "sync") == {
        "path": str(registry()),
        "changes": False,
        "written": False,
        "added": [],
        "updated": [],
        "replaced": [],
        "edited": [],
        "removed": [],
        "stale": [],
        "difference": "",
    }


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
    replaced = flow("registry", "sync", "--replace", "reader.categories", "--replace", "description")

    gone = "Kept, though the skill is gone: gone. Remove the entry, or fix its `skill_path`.\n"
    assert synced.out == (
        f"{registry()} is up to date: no skill in your home folder declares anything new.\n"
        "Kept, because you edited it (`--replace SKILL.FIELD` takes the skill's value):\n"
        "  reader.description: Older; the skill declares Digs deeper\n"
        "  reader.categories: [research]; the skill declares [law]\n"
        f"{gone}"
    )
    assert replaced.out == (
        f"Wrote {registry()}: updates reader.\n"
        "  reader.description: Older → Digs deeper\n"
        "  reader.categories: [research] → [law]\n"
        f"{gone}"
    )
    text = registry().read_text()
    assert text.startswith("# mine\n")
    assert "name: reader  # keep" in text
    assert "law" in text
    assert "name: gone" in text


# --- check ----------------------------------------------------------------------------------------


# --- the group ------------------------------------------------------------------------------------


def test_a_registry_that_cannot_be_written_is_refused() -> None:
    put(home_skills().parents[1] / ".agents/skills", "reader")
    assert not os.path.exists(registry().parent)

    status, error = refused("registry", "sync")

    assert (status, error["code"]) == (3, "WRITE_FAILED")
