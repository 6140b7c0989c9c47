"""The one question to git."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.skills import git, repository

from flowrail.discovery.git import LIMIT, AskGit


class FakeGit:
    """Answers as told, and remembers what it was given."""

    def __init__(self, answer: subprocess.CompletedProcess[bytes] | Exception) -> None:
        self.answer = answer
        self.command: Sequence[str] = ()
        self.env: Mapping[str, str] = {}
        self.timeout = 0.0

    def __call__(
        self,
        command: Sequence[str],
        *,
        capture_output: bool,
        timeout: float,
        env: Mapping[str, str],
        check: bool,
    ) -> subprocess.CompletedProcess[bytes]:
        self.command, self.env, self.timeout = command, env, timeout
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def done(stdout: bytes = b"", *, stderr: bytes = b"", status: int = 0) -> subprocess.CompletedProcess[bytes]:
    return subprocess.CompletedProcess([], status, stdout, stderr)


def test_an_entry_of_the_index_that_is_a_submodule_says_yes() -> None:
    fake = FakeGit(done(b"160000 0123 0\tlibs/inner\0"))

    answer = AskGit({"PATH": "/bin", "GIT_DIR": "/elsewhere"}, run=fake)("/outer/libs/inner", "/outer")

    assert answer == (True, "")
    assert fake.command[-1] == "libs/inner"
    assert "GIT_DIR" not in fake.env
    assert fake.env["PATH"] == "/bin"
    assert fake.timeout == LIMIT


def test_anything_else_in_the_index_says_no() -> None:
    assert AskGit({}, run=FakeGit(done(b"100644 0123 0\tinner\0")))("/o/inner", "/o") == (False, "")
    assert AskGit({}, run=FakeGit(done()))("/o/inner", "/o") == (False, "")


def test_a_git_that_is_too_slow_missing_or_unwilling_is_told() -> None:
    slow = AskGit({}, run=FakeGit(subprocess.TimeoutExpired("git", 5)))
    missing = AskGit({}, run=FakeGit(FileNotFoundError(2, "No such file or directory")))
    unwilling = AskGit({}, run=FakeGit(done(stderr=b"fatal: dubious ownership\n", status=128)))

    assert slow("/o/i", "/o") == (False, "git did not answer within 5 seconds")
    assert missing("/o/i", "/o") == (False, "git cannot be started: No such file or directory")
    assert unwilling("/o/i", "/o") == (False, "git refused: fatal: dubious ownership")


def test_asking_runs_no_hook_of_the_repository(tree: Path) -> None:
    outer = repository(tree / "outer")
    repository(outer / "inner")
    hook = tree / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tree}/ran\n")
    hook.chmod(0o755)
    git(outer, "config", "core.fsmonitor", str(hook))

    answer = AskGit(os.environ)(str(outer / "inner"), str(outer))

    assert answer == (False, "")
    assert not (tree / "ran").exists()
