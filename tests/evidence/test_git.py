"""How git is started in a repository of another author."""

import os
from pathlib import Path

import pytest
from support.skills import repository

from flowrail.git import GitFailedError, output_of


def test_git_variables_of_the_caller_do_not_mislead(tmp_path: Path) -> None:
    folder = repository(tmp_path / "a")

    answer = output_of(str(folder), ("rev-parse", "--show-toplevel"), {**os.environ, "GIT_DIR": "/elsewhere"})

    assert answer.decode().strip() == str(folder)


def test_a_git_that_is_missing_fails_or_does_not_answer_is_reported(tmp_path: Path) -> None:
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)

    for environ, reason in (
        ({"PATH": "/nowhere"}, "git could not be started: No such file or directory"),
        (os.environ, "git failed: fatal: not a git repository"),
        ({"PATH": f"{slow.parent}:{os.environ['PATH']}"}, "git did not answer within 0.3 seconds"),
    ):
        with pytest.raises(GitFailedError, match=reason):
            output_of(str(tmp_path), ("rev-parse", "HEAD"), environ, seconds=0.3)
