"""Bundled skills in a project, in home or in any folder: installed and updated."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.installed import BUNDLE, SKILL, as_by_another_version, files, manifest, states
from support.sandbox import BUNDLED, flow, project_skills, refused, told, unchanged

from flowrail.errors import StorageError
from flowrail.skills import bundled_copies, install

# --- where


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ([], ".claude/skills"),
        (["--host", "agents"], ".agents/skills"),
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
    assert f"{len(files(BUNDLE))} files new" in ran.out


def test_without_names_the_installed_skills_are_updated_and_removed() -> None:
    told("setup", *BUNDLED)
    assert sorted(path.name for path in project_skills().iterdir()) == BUNDLED
    assert [item["source"] for item in told("list")["skills"]] == ["project"] * len(BUNDLED)
    (project_skills() / SKILL / "SKILL.md").unlink()

    updated = {skill["skill"]: skill["files"]["SKILL.md"] for skill in told("setup")["skills"]}
    told("setup", "--remove")

    assert updated == {**dict.fromkeys(BUNDLED, "same"), SKILL: "new"}
    assert not Path(".claude/settings.json").exists()
    assert list(project_skills().iterdir()) == []
    assert told("setup", "--remove")["skills"] == []


def test_compiled_files_are_not_installed_and_a_clone_without_them_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped"
    shutil.copytree(BUNDLE, shipped / SKILL)
    (shipped / SKILL / "__pycache__").mkdir(exist_ok=True)
    (shipped / SKILL / "__pycache__/workflow.cpython-311.pyc").write_bytes(b"compiled")
    monkeypatch.setattr(bundled_copies, "bundled_folder", lambda: str(shipped))

    told("setup", SKILL)
    copied = [path for path in project_skills().rglob("*") if "__pycache__" in path.parts]
    (listed,) = [skill for skill in told("list")["skills"] if skill["name"] == SKILL]
    (project_skills() / SKILL / "__pycache__").mkdir()
    (project_skills() / SKILL / "__pycache__/workflow.cpython-311.pyc").write_bytes(b"evil")
    (changed,) = [skill for skill in told("list")["skills"] if skill["name"] == SKILL]

    assert copied == []
    assert (listed["as_bundled"], changed["as_bundled"]) == (True, False)


def test_a_check_says_which_files_would_be_written_and_exits_1(installed: Path) -> None:
    assert flow("setup", "--check").status == 0
    (installed / "SKILL.md").unlink()

    ran = flow("setup", "--check", "--json")

    assert ran.status == 1
    assert ran.data["skills"][0]["files"]["SKILL.md"] == "new"
    assert not (installed / "SKILL.md").exists()


# --- what is already there


def test_a_second_time_changes_nothing(installed: Path) -> None:
    with unchanged(project_skills()):
        ran = flow("setup", SKILL, "--check")
    before = files(installed), manifest(installed)

    again = flow("setup", SKILL)

    assert "unchanged" in ran.out
    assert ran.out.endswith("nothing to do\n")
    assert "new" not in again.out
    assert (files(installed), manifest(installed)) == before


def test_a_file_changed_by_hand_is_left_and_named(installed: Path) -> None:
    changed, gone = installed / "steps" / "synthesis.md", installed / "SKILL.md"
    changed.write_text("Mine.\n")
    gone.unlink()

    ran = flow("setup", SKILL)

    assert changed.read_text() == "Mine.\n"
    assert gone.exists()
    assert "not replaced, because it has changed or flow did not write it: steps/synthesis.md" in ran.out
    assert states(SKILL)["steps/synthesis.md"] == "left"


def test_an_older_version_is_brought_up_to_date(installed: Path) -> None:
    as_by_another_version(installed)

    became = states(SKILL)

    assert became["steps/synthesis.md"] == "updated"
    assert became["steps/old.md"] == "removed"
    assert files(installed) == files(BUNDLE)
    assert manifest(installed)["files"].keys() == files(BUNDLE).keys()


def test_an_installation_that_was_cut_short_is_finished(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_by_another_version(installed)

    def fails(*_args: object, **_options: object) -> None:
        raise StorageError("the disk is full", hint="free some space")

    with monkeypatch.context() as cut:
        cut.setattr(install, "_remove", fails)
        assert flow("setup", SKILL).status == 3
    (installed / "steps" / "synthesis.md").write_text("Once.\n")  # as if this one had not been reached

    flow("setup", SKILL)

    assert files(installed) == files(BUNDLE)


@pytest.mark.parametrize("file", ["SKILL.md", "workflow.yaml", "workflow.py"])
def test_a_skill_that_somebody_else_made_is_not_mixed_with_ours(file: str) -> None:
    folder = project_skills() / SKILL
    folder.mkdir(parents=True)
    (folder / file).write_text("by hand")

    with unchanged(Path.cwd()):
        status, error = refused("setup", SKILL)

    assert (status, error["code"], error["details"]["files"]) == (4, "NOT_OURS", [file])
    assert "--force" in error["hint"]
    assert flow("setup", SKILL, "--force").status == 0


# --- what is odd there


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    project_skills().mkdir(parents=True)
    (project_skills() / SKILL).symlink_to(tmp_path / "elsewhere")

    status, error = refused("setup", SKILL)

    assert (status, error["code"]) == (4, "NOT_A_FOLDER")
    assert not list((tmp_path / "elsewhere").iterdir())
    (project_skills() / SKILL).unlink()
    (project_skills() / SKILL).write_text("a file")
    assert "is not a folder" in refused("setup", SKILL)[1]["message"]


# --- links


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
    assert "leads out of the project" in error["message"]
    assert error["hint"].endswith("--dir DIR" if words[0] == "new" else "use --home")


def test_a_link_inside_the_project_and_one_in_home_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".claude").mkdir()
    Path("skills").mkdir()
    Path(".claude/skills").symlink_to("../skills")
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    home = Path(os.environ["HOME"])
    (home / ".claude").symlink_to(dotfiles)

    flow("setup", SKILL)
    flow("setup", SKILL, "--home")

    assert (Path("skills") / SKILL / "SKILL.md").exists()
    assert (dotfiles / "skills" / SKILL / "SKILL.md").exists()
    monkeypatch.chdir(home)
    assert states(SKILL, "--remove")["SKILL.md"] == "removed"
