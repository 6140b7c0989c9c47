"""A line of shell is read without running it, also one that a shell would refuse."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from flowrail.rules.shell import commands_in, simple_commands

SIGNS = [*"\"'`$()<>&|;#\\ \n", "$(", "<<E\n", "\nE\n", "flow approve x"]


@given(st.lists(st.sampled_from(SIGNS), max_size=30).map("".join))
def test_every_line_can_be_read(line: str) -> None:
    assert all(command.words or command.redirections or command.documents for command in commands_in(line))


@given(st.lists(st.text().filter(lambda word: "\\\n" not in word and "\0" not in word), min_size=1))
def test_quoted_words_are_read_as_they_were(words: list[str]) -> None:
    assert simple_commands(f"cd x && {shlex.join(words)} | tail")[1].words == words


def test_a_here_document_belongs_to_its_command_and_is_not_read_as_commands() -> None:
    line = "cat <<'A' > x && grep -c y <<B; ls\nDon't\nA\n$(date)\nB\nwc x # y\n"

    cat, grep, ls, wc = commands_in(line)

    assert (cat.words, cat.documents, cat.inner) == (["cat"], ["Don't\n"], [])
    assert cat.redirections == [(">", "x")]
    assert (grep.documents, [inner.words for inner in grep.inner]) == (["$(date)\n"], [["date"]])
    assert (ls.words, wc.words) == (["ls"], ["wc", "x"])
