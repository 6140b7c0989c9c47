"""What git is asked about a submodule."""

import os
from pathlib import Path

from support.skills import git, repository

from flowrail.discovery.git import superproject


def test_a_submodule_has_a_superproject_and_a_clone_has_none(tree: Path) -> None:
    outer = repository(tree / "outer")
    inner, clone = repository(outer / "inner"), repository(outer / "clone")
    git(outer, "submodule", "add", "-q", "./inner")

    assert superproject(str(inner), os.environ) == (str(outer), "")
    assert superproject(str(clone), os.environ) == (None, "")


def test_git_variables_of_the_caller_do_not_mislead(tree: Path) -> None:
    outer = repository(tree / "outer")
    inner = repository(outer / "inner")
    git(outer, "submodule", "add", "-q", "./inner")

    answer = superproject(str(inner), {**os.environ, "GIT_DIR": "/elsewhere"})

    assert answer == (str(outer), "")


def test_a_git_that_is_missing_or_fails_is_reported(tree: Path) -> None:
    missing = superproject(str(tree), {"PATH": "/nowhere"})
    outside = superproject(str(tree), os.environ)

    assert missing == (None, "git could not be started: No such file or directory")
    assert outside[0] is None
    assert outside[1].startswith("git failed: fatal: not a git repository")


def test_no_program_that_the_repository_configures_is_started(tree: Path) -> None:
    outer = repository(tree / "outer")
    repository(outer / "inner")
    hook = tree / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tree}/ran\n")
    hook.chmod(0o755)
    git(outer, "config", "core.fsmonitor", str(hook))

    answer = superproject(str(outer / "inner"), os.environ)

    assert answer == (None, "")
    assert not (tree / "ran").exists()
