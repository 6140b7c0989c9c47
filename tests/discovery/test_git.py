"""What git is asked about a submodule."""

import os
import time
from pathlib import Path

import pytest
from support.skills import git, repository

from flowrail.discovery.git import superproject


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


def test_the_time_limit_includes_the_programs_that_git_starts(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = tree / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {tree}/child\nwait\n")
    wrapper.chmod(0o755)
    monkeypatch.setattr("flowrail.discovery.git.TIME_LIMIT", 0.3)
    started = time.monotonic()

    answer = superproject(str(tree), {"PATH": f"{wrapper.parent}:{os.environ['PATH']}"})

    assert answer == (None, "git did not answer within 0.3 seconds")
    assert time.monotonic() - started < 30
    child = int((tree / "child").read_text())
    while _is_running(child):  # its parent is gone, so it may take a moment until it is collected
        time.sleep(0.05)


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
