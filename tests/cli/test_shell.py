"""`flow completion` and `flow help`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.sandbox import flow, put_skill


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_each_shell_is_printed(shell: str) -> None:
    ran = flow("completion", shell)

    assert ran.status == 0
    assert "_FLOW_COMPLETE" in ran.out


def test_the_line_is_added_once_and_the_rest_of_the_file_stays() -> None:
    file = Path(os.environ["HOME"]) / ".bashrc"
    file.write_text("alias ll='ls -l'")
    file.chmod(0o600)

    first, second = (flow("completion", "bash", "--install") for _ in range(2))

    assert file.read_text() == "alias ll='ls -l'\neval \"$(flow completion bash)\"\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "added to ~/.bashrc" in first.out
    assert "has the line already" in second.out


def test_help_shows_what_the_option_shows() -> None:
    put_skill("small")

    assert flow("help").out == flow("--help").out
    assert flow("help", "session", "rewind").out.replace("help ", "", 1) == flow(
        "session", "rewind", "--help"
    ).out.replace("help ", "", 1)


def test_help_for_an_unknown_command_suggests_a_known_one() -> None:
    ran = flow("help", "sesions")

    assert ran.status == 2
    assert "sessions" in ran.err
