"""Read a line of shell, as far as it can be read without running it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_OPERATORS = frozenset(";&|()\n")
_PREFIXES = frozenset(
    {
        "sudo",
        "nice",
        "nohup",
        "time",
        "command",
        "exec",
        "then",
        "do",
        "else",
        "!",
        "{",
        "spawn",
        "uv",
        "poetry",
    }
)
_WITH_OPTIONS = frozenset({"env", "timeout", "stdbuf"})
"""Programs that precede another one, after options and values of their own."""
_OPTIONS_WITH_VALUES = frozenset({"-u", "--unset", "-C", "-k", "-s"})

_REDIRECTION = r"(?:(?<=\s)\d+|&)?(?:>>?|<)\|?(?:&\d|\s*(?:\"[^\"]*\"|'[^']*'|[^\s;&|()<>]+))"


def simple_commands(line: str) -> list[list[str]]:
    """Return the words of each command in a shell line; no command of a line that cannot be read."""
    import shlex  # 0.3 ms, which hooks need only for lines about flow

    lexer = shlex.shlex(line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= _OPERATORS:
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return [command for command in commands if command]


def without_redirections(line: str) -> str:
    """Return a shell line without `> file`, `2>&1` and the like; an arrow in quotation marks is also removed."""
    return re.sub(_REDIRECTION, " ", line)


def without_prefixes(words: Sequence[str]) -> Sequence[str]:
    """Return a command without what precedes its program: assignments, `env` with its options, `sudo` and the like."""
    while words:
        name = os.path.basename(words[0])
        if name in _WITH_OPTIONS:
            words = words[1:]
            while words and (words[0].startswith("-") or re.match(r"[\d.]+[smhd]?\Z", words[0])):
                words = words[2:] if words[0] in _OPTIONS_WITH_VALUES else words[1:]
        elif name in {"uv", "poetry"} and words[1:2] == ["run"]:
            words = words[2:]
        elif name in _PREFIXES or re.match(r"[A-Za-z_]\w*=", words[0]):
            words = words[1:]
        else:
            break
    return words
