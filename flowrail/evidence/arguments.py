"""The arguments of a declared command, and whether a shell line runs the same command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from flowrail.errors import ConflictError
from flowrail.rules.shell import commands_run, simple_commands
from flowrail.text.placeholders import PLACEHOLDER
from flowrail.text.safe_text import shortened


def resolved(run: Sequence[str], values: Mapping[str, object], *, command: str) -> tuple[str, ...]:
    """Return the arguments with their values: each placeholder stays in its argument.

    A value cannot become an option: an argument that begins with a placeholder must not begin with `-`, unless it
    follows `--`.
    """
    words: list[str] = []
    for written in run:
        word = PLACEHOLDER.sub(lambda match: _value(match, values, command), written)
        if word.startswith("-") and not written.startswith("-") and "--" not in run[: len(words)]:
            raise ConflictError(
                f"command `{command}`: the value `{shortened(word, 40)}` begins with `-`, so it could be taken for an option",
                code="ARGUMENT_REFUSED",
                hint="the author of the workflow writes `--` before the argument if the program accepts that",
            )
        words.append(word)
    return tuple(words)


def _value(match: re.Match[str], values: Mapping[str, object], command: str) -> str:
    name = match[1]
    if name == "$":
        return "$"
    value = values.get(name)
    if not isinstance(value, (str, int, float)) or "\0" in str(value):
        problem = "has no value yet" if value is None else "is not a text or a number"
        raise ConflictError(
            f"command `{command}`: `${name}` {problem}",
            code="ARGUMENT_REFUSED",
            hint="run the command at a step that is reached after the fact was reported",
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_typed_by_hand(line: str, run: Sequence[str], folder: str) -> bool:
    """Return whether a shell *line* runs exactly the command *run*, as far as a shell line can be read.

    It may be part of a longer line, follow `cd FOLDER &&`, `env` or an assignment, be the text of `sh -c`, or name the
    program by its path.
    """
    at = folder
    for command in commands_run(simple_commands(line)):
        words = command.words
        if words[:1] == ["cd"] and len(words) > 1:
            at = os.path.join(at, words[-1])
        elif any(_is_same(words, run, folder, start) for start in (folder, at)):
            return True
    return False


def _is_same(words: Sequence[str], run: Sequence[str], folder: str, at: str) -> bool:
    """Return whether *words*, typed in the folder *at*, are the command *run*, which starts in *folder*."""
    if list(words) == list(run):
        return True
    if not words or list(words[1:]) != list(run[1:]):
        return False
    typed, declared = words[0], run[0]
    if "/" in typed and "/" in declared:
        return os.path.normpath(os.path.join(at, typed)) == os.path.normpath(os.path.join(folder, declared))
    return typed == declared or ("/" not in declared and os.path.basename(typed) == declared)
