"""The words of a printed command, as a shell reads them."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""(?P<blank>[ \t\r\n]+)|[^ \t\r\n'"\\]+|'(?P<single>[^']*+)'|"(?P<double>(?:[^"\\]++|\\.)*+)"|\\(?P<one>.)""",
    re.DOTALL,
)


def words_of(command: str) -> list[str]:
    """Return the words of *command* as a shell reads them; ValueError where a quote is left open.

    As `shlex.split` does, which takes seconds for a word of a million characters: a fact may be one.
    """
    words: list[list[str]] = [[]]
    end = 0
    for found in _PIECE.finditer(command):
        if found.start() != end:
            break
        end = found.end()
        kind = found.lastgroup
        if kind == "blank":
            words += [[]] if words[-1] else []
        elif kind == "double":
            words[-1].append(re.sub(r'\\(["\\])', r"\1", found[kind]))
        else:
            words[-1].append(found[kind] if kind else found[0])
    if end != len(command):
        raise ValueError("a quote is left open")
    return ["".join(word) for word in words if word]
