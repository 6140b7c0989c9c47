"""The shell commands of a step are noted without secrets, for an agent that forgot them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowrail.evidence import shell_history
from flowrail.evidence.shell_history import MOST_ENTRIES


def note(folder: Path, text: str, *, step: str = "first", status: int | None = 0) -> None:
    shell_history.record(str(folder), text, step_entered=step, at="2026-01-01T00:00:00Z", status=status)


def test_the_last_ten_commands_of_the_current_step_are_kept(tmp_path: Path) -> None:
    note(tmp_path, "tools/freeze", step="earlier")
    for number in range(MOST_ENTRIES + 20):
        note(tmp_path, f"tools/count {number}", status=number % 2)

    commands = shell_history.last(str(tmp_path), step_entered="first")

    assert [command.text for command in commands] == [f"tools/count {210 + number}" for number in range(10)]
    assert [command.status for command in commands[:2]] == [0, 1]
    assert len((tmp_path / shell_history.FILE).read_text().splitlines()) == MOST_ENTRIES
    assert shell_history.last(str(tmp_path), step_entered="earlier") == []


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("API_TOKEN=abc123 make", "API_TOKEN=[…] make"),
        ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer […]' x"),
        ("mysql --password 'a b' db", "mysql --password […] db"),
        ("git push https://me:pass@host/x", "git push https://[…]@host/x"),
        ("login ghp_0123456789abcdefghij", "login […]"),
        ("echo a\necho b", "echo a echo b"),
    ],
)
def test_values_that_look_like_secrets_are_not_kept(tmp_path: Path, line: str, kept: str) -> None:
    note(tmp_path, line)

    assert [command.text for command in shell_history.last(str(tmp_path), step_entered="first")] == [kept]
