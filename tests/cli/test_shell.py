"""`flow completion` and `flow help`."""

from __future__ import annotations

import pytest
from support.sandbox import flow, put_skill


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_each_shell_is_printed(shell: str) -> None:
    ran = flow("completion", shell)

    assert ran.status == 0
    assert "_FLOW_COMPLETE" in ran.out


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
