"""Reject words that the glossary replaces, in texts that people or agents read.

    python docs/words.py            list every hit, exit 1 if there is one
    python docs/words.py --count    count the hits for each top-level folder

Checked are string literals and docstrings of Python files, Markdown, and YAML.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

INSTEAD = {
    r"\bways? on\b": "transition, next step",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\b(?:anew|once more)\b": "again",
    r"\bfor ever\b": "forever",
    r"\b(?:whoever|whatever|whomever)\b": "the reviewer, any file, …",
    r"\b(?:is|are) told\b|\btells\b": "shows, prints, says",
    r"\bsomebody else\b": "another user, another conversation",
    r"\bstands? (?:in|for|at)\b": "is in, means, is at",
    r"\bgo(?:es)? on with\b": "continues",
    r"\bshall\b": "must, will",
    r"\b(?:is|are) passed over\b|\b(?:is|are|be) let go\b": "is ignored, is allowed",
    r"\bnobody (?:asked|allowed)\b": "unused, not approved",
    r"` is no (?:\w+)\b": "unknown step `x`",
    r"\bthere is none\b|\bis not there\b": "not found, missing",
    r"\bleas(?:es?|ed)\b": "nothing: a child session stays open until it ends",
    r"\b(?:claim|adopt)(?:s|ed|ing)? (?:it|them|their work|the (?:dispatch|payload|session|work))\b": "receive, take over",
}
"""Each pattern, and what to write instead. `words.md` of the style guide has the same table."""

EXCEPTIONS = {
    "docs/words.py": "names the words",
    "flowrail/bundled/leon-writing-style/": "the noun in AI tells",
    "plugins/flowrail/skills/leon-writing-style/": "the same",
    "docs/reference/skills.md": "the same",
    "tests/golden/skills.yaml": "the same",
}
"""Files and folders that are not checked, each with its reason."""

_PATTERNS = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in INSTEAD.items()]


class Hit(NamedTuple):
    """A word to replace, and where it is."""

    path: str
    line: int
    word: str
    instead: str


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file that people read, each with its first line."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, source
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def hits(path: Path) -> Iterator[Hit]:
    """Yield every word in a file that should be replaced."""
    name = path.relative_to(ROOT).as_posix()
    for first, text in texts(path):
        for pattern, instead in _PATTERNS:
            for found in pattern.finditer(text):
                line = first + text.count("\n", 0, found.start())
                yield Hit(name, line, found.group(), instead)


def checked_files() -> Iterator[Path]:
    """Yield the Python, Markdown and YAML files that git tracks, exceptions left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "*.py", "*.md", "*.yaml", "*.yml"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if not name.startswith(tuple(EXCEPTIONS)) and (ROOT / name).is_file():
            yield ROOT / name


def main(arguments: list[str]) -> int:
    """Print the hits and return the exit status."""
    found = sorted(hit for path in checked_files() for hit in hits(path))
    if "--count" in arguments:
        folders = Counter("/".join(hit.path.split("/")[:2]) for hit in found)
        for folder, count in folders.most_common():
            print(f"{count:6} {folder}")
        return 0
    for hit in found:
        print(f"{hit.path}:{hit.line}: `{hit.word}`: write {hit.instead}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
