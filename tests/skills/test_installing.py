"""Bundled skills in a project, in home or in any folder: installed, updated and removed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from support.sandbox import BUNDLED, flow, project_skills, put_skill, refused, told, unchanged

from flowrail.discovery.locations import bundled_folder
from flowrail.skills import bundled_copies
from flowrail.skills.install import MANIFEST

SKILL = "decision-critic"
BUNDLE = Path(bundled_folder()) / SKILL


def files(folder: Path) -> dict[str, bytes]:
    """Return the files below *folder* by path, without the manifest."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def state(*words: str) -> str:
    """Return what `flow setup` did with one skill."""
    (skill,) = told("setup", *words)["skills"]
    return str(skill["state"])


def listed() -> bool:
    """Return whether the installed skill counts as the bundled one, so that it may run."""
    return flow("step", SKILL, "--new").status == 0


@pytest.fixture
def installed() -> Path:
    """Return the folder of a skill that is installed in the project."""
    assert flow("setup", SKILL).status == 0
    return project_skills() / SKILL


def as_by_another_version(folder: Path) -> None:
    """Change *folder* as if another version had installed it, with one different text and one more."""
    manifest = json.loads((folder / MANIFEST).read_text())
    for path, text in {"steps/synthesis.md": "Once.\n", "steps/old.md": "Told no more.\n"}.items():
        (folder / path).write_text(text)
        manifest["files"][path] = hashlib.sha256(text.encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps({**manifest, "version": "0.0.9"}))


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ([], ".claude/skills"),
        (["--host", "codex"], ".agents/skills"),
        (["--home"], "HOME/.claude/skills"),
        (["--home", "--host", "agents"], "HOME/.agents/skills"),
    ],
)
def test_a_skill_is_put_where_the_host_looks(words: list[str], place: str) -> None:
    ran = flow("setup", SKILL, *words)

    folder = Path(place.replace("HOME", os.environ["HOME"])) / SKILL
    assert ran.status == 0
    assert files(folder) == files(BUNDLE)
    assert f"{SKILL} in {folder.absolute()}: new\n" in ran.out


def test_without_names_the_installed_skills_are_updated_and_removed() -> None:
    told("setup", *BUNDLED)
    (project_skills() / SKILL / "SKILL.md").unlink()

    updated = {skill["skill"]: skill["state"] for skill in told("setup")["skills"]}
    told("setup", "--remove")

    assert updated == {**dict.fromkeys(BUNDLED, "unchanged"), SKILL: "updated"}
    assert not Path(".claude/settings.json").exists()
    assert list(project_skills().iterdir()) == []
    assert told("setup", "--remove")["skills"] == []


def test_a_check_says_what_would_change_and_writes_nothing(installed: Path) -> None:
    with unchanged(project_skills()):
        assert flow("setup", SKILL, "--check").out.endswith("nothing to do\n")
        assert flow("setup", SKILL, "--remove", "--check").status == 1
    (installed / "SKILL.md").unlink()

    ran = flow("setup", "--check", "--json")

    assert (ran.status, ran.data["skills"][0]["state"]) == (1, "updated")
    assert not (installed / "SKILL.md").exists()


def test_an_older_version_is_updated_also_after_an_interruption(installed: Path) -> None:
    as_by_another_version(installed)
    shutil.copy(BUNDLE / "SKILL.md", installed / "SKILL.md")  # as if only this file had been written

    assert state(SKILL) == "updated"

    assert files(installed) == files(BUNDLE)
    assert state(SKILL) == "unchanged"


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "steps" / "synthesis.md").write_text("Mine.\n"),
        lambda folder: (folder / "steps" / "extra.md").write_text("Mine too.\n"),
        lambda folder: (folder / MANIFEST).unlink() or (folder / "SKILL.md").write_text("Another skill."),
    ],
)
def test_a_folder_that_was_changed_by_hand_is_kept_unless_forced(installed: Path, change: object) -> None:
    change(installed)  # type: ignore[operator]

    with unchanged(installed):
        ran = flow("setup", SKILL)
        if (installed / MANIFEST).exists():
            assert state(SKILL, "--remove") == "kept"

    assert "kept, because it was changed by hand, or flow did not write it" in ran.out
    assert state(SKILL, "--force") == "updated"
    assert files(installed) == files(BUNDLE)


def test_what_was_installed_is_removed_and_nothing_else(installed: Path) -> None:
    (installed / ".notes").write_text("Mine.\n")

    assert state(SKILL, "--remove") == "removed"
    assert files(installed) == {".notes": b"Mine.\n"}


@pytest.mark.parametrize("name", [SKILL, "../decision-critic", "nosuch"])
def test_what_was_not_installed_is_not_removed(name: str) -> None:
    put_skill(SKILL)

    status, error = refused("setup", name, "--remove")

    assert (status, error["code"]) == (2, "NOT_INSTALLED")
    assert (project_skills() / SKILL / "workflow.yaml").exists()


# --- foreign content


@pytest.mark.parametrize("options", [[], ["--remove"], ["--force"], ["--remove", "--force"]])
@pytest.mark.parametrize("absolute", [True, False])
def test_a_manifest_that_names_files_elsewhere_removes_nothing(
    installed: Path, tmp_path: Path, options: list[str], absolute: bool
) -> None:
    victim = tmp_path / "victim" / "file"
    victim.parent.mkdir()
    victim.write_text("theirs")
    named = str(victim) if absolute else os.path.relpath(victim, installed)
    digest = hashlib.sha256(b"theirs").hexdigest()
    (installed / MANIFEST).write_text(json.dumps({"version": "1", "files": {named: digest}}))

    flow("setup", SKILL, *options)

    assert victim.read_text() == "theirs"


def test_a_link_in_place_of_the_folder_or_in_it_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder = project_skills() / SKILL
    folder.mkdir(parents=True)
    (folder / "steps").symlink_to(tmp_path / "elsewhere")
    assert state(SKILL, "--force") == "kept"
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path / "elsewhere")

    status, error = refused("setup", SKILL)

    assert (status, error["code"]) == (4, "NOT_A_FOLDER")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("link", [".claude", ".claude/skills"])
@pytest.mark.parametrize("words", [["setup", SKILL], ["new", "mine"], ["setup", "--remove"]])
def test_nothing_is_changed_behind_a_link_out_of_the_project(
    tmp_path: Path, link: str, words: list[str]
) -> None:
    away = tmp_path / "away"
    shutil.copytree(BUNDLE, away / "skills" / SKILL)
    place = Path(link)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(away if link == ".claude" else away / "skills")

    with unchanged(tmp_path):
        status, error = refused(*words)

    assert (status, error["code"]) == (4, "PLACE_ELSEWHERE")
    assert error["hint"].endswith("in another project" if words[0] == "new" else "use --home")


def test_a_link_inside_the_project_and_one_in_home_are_followed(tmp_path: Path) -> None:
    Path(".claude").mkdir()
    Path("skills").mkdir()
    Path(".claude/skills").symlink_to("../skills")
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (Path(os.environ["HOME"]) / ".claude").symlink_to(dotfiles)

    flow("setup", SKILL)
    flow("setup", SKILL, "--home")

    assert (Path("skills") / SKILL / "SKILL.md").exists()
    assert (dotfiles / "skills" / SKILL / "SKILL.md").exists()


# --- a copy runs like the bundled skill while it is unchanged


def test_an_unchanged_copy_runs_like_the_bundled_skill(installed: Path) -> None:
    (installed / ".DS_Store").write_bytes(b"left by a file manager")

    assert told("step", SKILL)["status"] == "active"
    assert listed() is True


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda folder: (folder / "steps/synthesis.md").write_text("Mine."), "steps/synthesis.md (changed)"),
        (lambda folder: (folder / "steps/synthesis.md").unlink(), "steps/synthesis.md (gone)"),
        (lambda folder: (folder / "steps/x.yaml").touch(), "steps/x.yaml (new)"),
    ],
)
def test_a_changed_copy_needs_approval_and_names_the_change(
    installed: Path, change: object, named: str
) -> None:
    told("step", SKILL)
    change(installed)  # type: ignore[operator]

    status, error = refused("step", SKILL, "--new")

    assert (status, error["code"], listed()) == (7, "NOT_TRUSTED", False)
    assert f"differs from it: {named} and has not been approved" in error["message"]
    again = f"flow setup {SKILL} --host claude-code --force"
    assert error["hint"] == f"a person runs: flow trust {SKILL}; or replace it: {again}"
    assert told("step", SKILL, "ok")["step"]["number"] == 2  # the session keeps its definition


def test_compiled_files_are_not_installed_and_make_a_copy_untrusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = Path("__pycache__/workflow.cpython-311.pyc")
    shipped = tmp_path / "shipped"
    shutil.copytree(BUNDLE, shipped / SKILL)
    (shipped / SKILL / "__pycache__").mkdir(exist_ok=True)
    (shipped / SKILL / compiled).write_bytes(b"compiled")
    monkeypatch.setattr(bundled_copies, "bundled_folder", lambda: str(shipped))

    told("setup", SKILL)
    assert (listed(), (project_skills() / SKILL / "__pycache__").exists()) == (True, False)
    (project_skills() / SKILL / "__pycache__").mkdir()
    (project_skills() / SKILL / compiled).write_bytes(b"evil")

    assert "<step_output" not in flow("step", SKILL, "--new").out
