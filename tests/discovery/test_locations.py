"""Where skills can live."""

import os
from pathlib import Path

import pytest
from support.skills import git, repository

from flowrail.discovery import locations as locations_module
from flowrail.discovery.git_root import find_project_root
from flowrail.discovery.locations import Scope, look, skill_roots


def folders(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)


def test_cwd_comes_first_then_what_lies_above_then_home(tree: Path) -> None:
    home, project = tree / "home", tree / "project"
    cwd = project / "a" / "b"
    roots = [at / ".claude/skills" for at in (cwd, project / "a", project, home)]
    folders(*roots, project / ".git")

    usable = skill_roots(str(cwd), str(home), {})

    assert [root.path for root in usable] == [str(root) for root in roots]
    assert [root.scope for root in usable] == [Scope.PROJECT, Scope.PROJECT, Scope.GIT_ROOT, Scope.GLOBAL]
    assert [root.origin for root in usable] == ["cwd", "parent", "git root", "home"]


def test_outside_a_repository_nothing_above_cwd_counts(tree: Path) -> None:
    folders(tree / ".claude/skills", tree / "a")

    assert skill_roots(str(tree / "a"), str(tree / "home"), {}) == ()


@pytest.mark.parametrize("moved", ["~/conf", "conf", "{home}/conf"])
def test_the_config_dir_moves_the_clients_place_and_not_the_shared_one(tree: Path, moved: str) -> None:
    home = tree / "home"
    folders(home / "conf/skills", home / ".claude/skills", home / ".agents/skills")

    usable = skill_roots(str(tree), str(home), {"CLAUDE_CONFIG_DIR": moved.format(home=home)})

    assert [(root.path, root.origin) for root in usable] == [
        (str(home / "conf/skills"), "CLAUDE_CONFIG_DIR"),
        (str(home / ".agents/skills"), "home"),
    ]


def test_roots_asked_for_come_last(tree: Path) -> None:
    home, cwd = tree / "home", tree / "cwd"
    folders(cwd / "one", home / "two", home / ".claude/skills", home)

    usable = skill_roots(str(cwd), str(home), {}, ["one", "~/two", "~", "missing"])

    assert [root.path for root in usable] == [
        str(home / ".claude/skills"),
        str(cwd / "one"),
        str(home / "two"),
        str(home),
    ]
    assert {root.scope for root in usable[1:]} == {Scope.EXTRA}


@pytest.mark.parametrize(
    "modules",
    [
        '[submodule "x"]\n\tpath = "an inner"\n\turl = ./x\n',
        '[submodule "x"]\n\tPath = an inner  # where it is\n\turl = ./x\n',
        None,
    ],
)
def test_git_says_what_a_submodule_is_however_gitmodules_is_written(tree: Path, modules: str | None) -> None:
    outer = repository(tree / "outer")
    inner, clone = repository(outer / "an inner"), repository(outer / "clone")
    git(outer, "submodule", "add", "-q", "./an inner")
    if modules is None:
        (outer / ".gitmodules").unlink()
    else:
        (outer / ".gitmodules").write_text(modules)

    tops = {root.path: root.origin for root in look(str(inner), "/nowhere", os.environ).roots}
    assert tops[str(outer / ".claude/skills")] == "superproject"
    assert str(outer / ".claude/skills") not in {
        root.path for root in look(str(clone), "/nowhere", os.environ).roots
    }


@pytest.mark.parametrize("program", [None, "#!/bin/sh\nsleep 60 & sleep 60\n", "#!/bin/sh\nexit 1\n"])
def test_a_git_that_is_missing_or_hangs_costs_seconds_and_a_debug_message(
    tree: Path, program: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    inner = repository(repository(tree / "outer") / "inner")
    folders(inner / ".claude/skills", tree / "bin")
    if program:
        (tree / "bin/git").write_text(program)
        (tree / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tree / 'bin'}:/bin" if program else str(tree / "bin"))
    monkeypatch.setattr(locations_module, "GIT_SECONDS", 0.5)
    caplog.set_level("DEBUG", "flowrail.discovery.locations")

    found = look(str(inner), "/nowhere", os.environ)

    assert [root.path for root in found.usable] == [str(inner / ".claude/skills")]
    assert [record.levelname for record in caplog.records] == ["DEBUG"]


def test_the_project_root_is_the_nearest_folder_with_a_store_or_a_repository(tree: Path) -> None:
    folders(tree / "project/.git", tree / "project/part/.flow", tree / "project/part/deep")
    folders(tree / "project/other", tree / "bare/deep")

    assert find_project_root(str(tree / "project/part/deep")) == str(tree / "project/part")
    assert find_project_root(str(tree / "project/other")) == str(tree / "project")
    assert find_project_root(str(tree / "bare/deep")) == str(tree / "bare/deep")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("what", [".git", ".flow"])
def test_what_another_user_put_above_makes_that_nobodys_project(tree: Path, what: str) -> None:
    cwd = tree / "mine"
    folders(cwd, tree / what, tree / ".claude/skills")
    assert find_project_root(str(cwd)) == str(tree)

    os.chown(tree / what, 12345, -1)

    assert find_project_root(str(cwd)) == str(cwd)
    assert skill_roots(str(cwd), str(tree / "home"), {}) == ()
    os.chown(cwd, 12345, -1)  # as in a container where all of a mounted folder is somebody's
    assert find_project_root(str(cwd)) == str(tree)
