"""Read a line of shell, as far as it can be read without running it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

_PREFIXES = frozenset(
    {
        "sudo",
        "nice",
        "nohup",
        "time",
        "command",
        "exec",
        "if",
        "elif",
        "while",
        "until",
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
_BLANKS = re.compile(r"[^\S\n]+|#[^\n]*")
"""What separates words, and a comment."""
_OPERATORS = re.compile(r"[;|()\n]|&(?!>)")
_DUPLICATED = re.compile(r"[<>]&|&>")
"""The part of a redirection that looks like an operator."""
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?[ \t]*(['\"\\]?)(\w+)['\"]?")
"""The begin of a here-document, with the line that ends it. If that is quoted, the text is taken literally."""
_SUBSTITUTIONS = ("$(", "<(", ">(")


class ShellCommand:
    """A command in a line of shell, with its words as its program gets them."""

    def __init__(self, operators: str = "") -> None:
        self.words: list[str] = []
        """The words, without quotes. A substitution stays as it is written."""
        self.documents: list[str] = []
        """The here-documents that it reads."""
        self.inner: list[ShellCommand] = []
        """The commands of its substitutions."""
        self.operators = operators
        """What separates it from the command before it."""

    @property
    def is_piped(self) -> bool:
        """Whether it reads what the command before it prints."""
        return re.search(r"(?<!\|)\|(?!\|)", self.operators) is not None

    def flat(self) -> Iterator[ShellCommand]:
        """Yield it and the commands inside it."""
        yield self
        for command in self.inner:
            yield from command.flat()


class _Reader:
    """Reads a line from its begin to its end."""

    def __init__(self, line: str) -> None:
        self.line = line.replace("\\\n", "")
        self.at = 0
        self._unread: list[tuple[ShellCommand, str, bool]] = []
        """The here-documents that begin on the next line."""

    def commands(self, end: str = "") -> list[ShellCommand]:
        """Return the commands up to the sign *end*, which is read, too."""
        found, depth = [ShellCommand()], 0
        while self.at < len(self.line):
            sign = self.line[self.at]
            if sign == end and (end == "`" or not depth):
                self.at += 1
                break
            if match := _BLANKS.match(self.line, self.at):
                self.at = match.end()
            elif match := _OPERATORS.match(self.line, self.at):
                self.at = match.end()
                depth += {"(": 1, ")": -1}.get(sign, 0)
                if sign == "\n":
                    self._read_documents()
                if found[-1].words:
                    found.append(ShellCommand())
                found[-1].operators += sign
            else:
                self._read_word(found[-1], end)
        return [command for command in found if command.words or command.documents]

    def _read_word(self, command: ShellCommand, end: str) -> None:
        start, word = self.at, ""
        while self.at < len(self.line):
            sign = self.line[self.at]
            if match := _DUPLICATED.match(self.line, self.at):
                self.at = match.end()
                word += match[0]
            elif match := _DOCUMENT.match(self.line, self.at):
                self.at = match.end()
                self._unread.append((command, match[2], bool(match[1])))
            elif sign == "'":
                word += self._up_to("'")
            elif sign == '"':
                self.at += 1
                word += self.quoted(command, '"')
            elif sign == "\\":
                word += self.line[self.at + 1 : self.at + 2]
                self.at += 2
            elif self._is_substitution(sign, end):
                word += self._substitution(command)
            elif sign == end or sign.isspace() or _OPERATORS.match(self.line, self.at):
                break
            else:
                word += sign
                self.at += 1
        if word or self.line[start : self.at] in {"''", '""'}:
            command.words.append(word)

    def quoted(self, command: ShellCommand, end: str) -> str:
        """Return what double quotes contain, up to the sign *end*, with the substitutions as they are written."""
        text = ""
        while self.at < len(self.line):
            sign = self.line[self.at]
            if sign == end:
                self.at += 1
                break
            if sign == "\\" and self.line[self.at + 1 : self.at + 2] in {'"', "\\", "$", "`"}:
                text += self.line[self.at + 1]
                self.at += 2
            elif self._is_substitution(sign, end) and sign not in "<>":
                text += self._substitution(command)
            else:
                text += sign
                self.at += 1
        return text

    def _is_substitution(self, sign: str, end: str) -> bool:
        return (sign == "`" and end != "`") or self.line.startswith(_SUBSTITUTIONS, self.at)

    def _substitution(self, command: ShellCommand) -> str:
        start, is_old = self.at, self.line[self.at] == "`"
        self.at += 1 if is_old else 2
        command.inner += self.commands("`" if is_old else ")")
        return self.line[start : self.at]

    def _up_to(self, end: str) -> str:
        start = self.at + 1
        close = self.line.find(end, start)
        close = len(self.line) if close < 0 else close
        self.at = close + 1
        return self.line[start:close]

    def _read_documents(self) -> None:
        for command, last, is_literal in self._unread:
            start = self.at
            match = re.compile(rf"(?m)^[ \t]*{last}[ \t]*$\n?").search(self.line, start)
            body = self.line[start : match.start() if match else len(self.line)]
            self.at = match.end() if match else len(self.line)
            command.documents.append(body)
            if not is_literal:
                _Reader(body).quoted(command, "")
        self._unread = []


def commands_in(line: str) -> list[ShellCommand]:
    """Return the commands of a shell line; those of substitutions are inside them."""
    return _Reader(line).commands()


def simple_commands(line: str) -> list[list[str]]:
    """Return the words of each command in a shell line, also of those in substitutions."""
    found = (inner for command in commands_in(line) for inner in command.flat())
    return [command.words for command in found if command.words]


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
