"""Read a line of shell, as far as it can be read without running it.

A word may be quoted, a program may be named by its path, and other programs may run it: `timeout 5 git push`,
`sh -c 'git push'`. What a variable, an alias, a script, `find -exec` or another interpreter runs is not found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_SPECIAL = frozenset("\\'\"`$()<>#\n")
"""A line without these signs consists of words and operators."""
_BLANKS = r"[^\S\n]+"
_PLAIN = r"[^\s\\'\"`$;&|()<>]+|\$(?!\()"
"""Signs in a word that mean themselves."""
_QUOTED = r"[^\\\"`$]+|\$(?!\()"
"""Signs between double quotes that mean themselves."""
_REDIRECTION = r"(?:\d+|&)?(?:<<<|>>|>\||<>|[<>](?!\())(?:&(?P<copied>\d+|-)|&)?"
_DOCUMENT = r"\d*<<(?!<)-?[ \t]*(['\"\\]?)(\w+)['\"]?"
"""The begin of a here-document, with the line that ends it. If that is quoted, the text is taken literally."""
_SUBSTITUTIONS = ("$(", "<(", ">(")
_DEEPEST = 10
"""A deeper substitution or shell is not read."""

_KEYWORDS = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}", "coproc"}
)
_ASSIGNMENT = r"[A-Za-z_]\w*\+?="
_PREFIXES: Mapping[str, Collection[str]] = {
    **dict.fromkeys(("builtin", "command", "noglob", "nohup", "spawn"), ()),
    "doas": {"-C", "-u"},
    "env": {"-C", "-u", "--chdir", "--unset"},
    "exec": {"-a"},
    "ionice": {"-c", "-n"},
    "nice": {"-n", "--adjustment"},
    "stdbuf": {"-e", "-i", "-o"},
    "sudo": {"-C", "-D", "-R", "-T", "-U", "-g", "-h", "-p", "-u", "--group", "--user"},
    "time": {"-f", "-o"},
    "timeout": {"-k", "-s", "--kill-after", "--signal"},
}
"""Programs that run the command that follows them, with those of their options that have a value of their own."""
_ALL_PREFIXES: Mapping[str, Collection[str]] = {
    **_PREFIXES,
    "setsid": (),
    "watch": {"-n", "--interval"},
    "xargs": {"-E", "-I", "-L", "-P", "-a", "-d", "-n", "-s"},
}
"""The same, with programs that run the command with other arguments, or at another terminal."""
_DURATION = r"[\d.]+[smhd]?\Z"
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "source", "."})
_OPTIONS_OF_GIT = frozenset({"-C", "-c", "--config-env", "--git-dir", "--namespace", "--work-tree"})
"""The options with a value that may precede the subcommand of git."""
_MOST_FOLDERS = 20


class ShellCommand:
    """A command in a line of shell, with its words as its program gets them."""

    def __init__(self, words: Sequence[str] = (), typed: str = "") -> None:
        self.words = [*words]
        """The words, without quotes. A substitution stays as it is written."""
        self.typed = typed
        """The text as it is typed."""
        self.redirections: list[tuple[str, str]] = []
        """The sign and the file of each redirection."""
        self.documents: list[str] = []
        """The here-documents and here-strings that it reads."""
        self.inner: list[ShellCommand] = []
        """The commands of its substitutions."""
        self.operators = ""
        """What separates it from the command before it."""

    @property
    def is_piped(self) -> bool:
        """Whether it reads what the command before it prints."""
        return re.search(r"(?<!\|)\|(?!\|)", self.operators) is not None

    @property
    def files(self) -> list[str]:
        """The files of its redirections."""
        return [file for _, file in self.redirections]

    def flat(self) -> Iterator[ShellCommand]:
        """Yield it and the commands inside it."""
        yield self
        for command in self.inner:
            yield from command.flat()


def commands_in(line: str) -> list[ShellCommand]:
    """Return the commands of a shell line; those of substitutions are inside them."""
    return _Reader(line.replace("\\\n", "")).commands()


def simple_commands(line: str) -> list[ShellCommand]:
    """Return each command in a shell line, also those in substitutions."""
    if not _SPECIAL.isdisjoint(line):
        return [inner for command in commands_in(line) for inner in command.flat()]
    return [ShellCommand(text.split(), text) for text in re.split("[;&|]+", line) if text.strip()]


def commands_run(commands: Iterable[ShellCommand], depth: int = 0) -> Iterator[ShellCommand]:
    """Yield *commands*, each followed by those that it runs: after `timeout 5`, or by `sh -c`."""
    for command in commands:
        yield command
        words = without_prefixes(command.words, _ALL_PREFIXES)
        texts, script = _given_to_shell(words, command.documents)
        for run in (words, script):
            if run and len(run) < len(command.words):
                yield ShellCommand(run)
        for text in texts if depth < _DEEPEST else ():
            yield from commands_run(simple_commands(text), depth + 1)


def spellings(commands: Iterable[ShellCommand]) -> Iterator[str]:
    """Yield the texts by which a pattern may name one of *commands* or a command that they run.

    They are the text as it is typed, without quotes and redirections, and without what precedes the program, its
    folders, and the options before a subcommand of git.
    """
    for command in commands_run(commands):
        words = command.words
        text, typed = " ".join(words), " ".join(command.typed.split())
        yield from filter(None, dict.fromkeys((typed, text)))
        folders = words[0].split("/")[-_MOST_FOLDERS:] if words else [""]
        for index in range(1, len(folders)):
            yield " ".join(("/".join(folders[index:]), *words[1:]))
        if folders[-1] == "git" and len(words) > 1 and words[1].startswith("-"):
            yield " ".join(("git", *words[_after_options(words, 1, _OPTIONS_OF_GIT) :]))


def written_by(commands: Iterable[ShellCommand]) -> list[str]:
    """Return the files that *commands* write by `>`, `>>` or `tee`.

    A file that a program writes by itself, or that a variable names, is not found.
    """
    written: list[str] = []
    for command in commands_run(commands):
        written += (file for sign, file in command.redirections if file and ">" in sign)
        if command.words[:1] == ["tee"]:
            written += (word for word in command.words[1:] if not word.startswith("-"))
    return written


def without_prefixes(words: list[str], prefixes: Mapping[str, Collection[str]] = _PREFIXES) -> list[str]:
    """Return a command without what precedes its program: keywords, assignments, `env` with its options, and the like."""
    start, length = 0, len(words)
    while start < length:
        name = words[start].rpartition("/")[2]
        if name in prefixes and not (name == "command" and words[start + 1 : start + 2] == ["-v"]):
            start = _after_options(words, start + 1, prefixes[name])
            if name == "timeout" and start < length and re.match(_DURATION, words[start]):
                start += 1
        elif name in {"uv", "poetry"} and words[start + 1 : start + 2] == ["run"]:
            start += 2
        elif name in _KEYWORDS or ("=" in words[start] and re.match(_ASSIGNMENT, words[start])):
            start += 1
        else:
            break
    return words[start:] if start else words


def _after_options(words: list[str], start: int, with_values: Collection[str]) -> int:
    """Return where the options that begin at *start* end."""
    while start < len(words) and words[start].startswith("-") and words[start] != "--":
        start += 2 if words[start] in with_values else 1
    return start + (start < len(words) and words[start] == "--")


def _given_to_shell(words: list[str], documents: list[str]) -> tuple[list[str], list[str]]:
    """Return the texts that a shell gets, by `-c`, `eval` or a here-document, and the words of a script that it runs."""
    name = words[0].rpartition("/")[2] if words else ""
    if name == "eval":
        return [" ".join(words[1:])], []
    if name not in _SHELLS:
        return [], []
    start, is_text = 1, False
    while start < len(words) and words[start].startswith(("-", "+")):
        option = words[start]
        is_short = not option.startswith("--")
        is_text = is_text or (is_short and "c" in option)
        start += 2 if is_short and option.endswith("o") else 1  # -o pipefail
    return ([*words[start : start + 1], *documents], []) if is_text else (documents, words[start:])


class _Reader:
    """Reads a line from its begin to its end."""

    def __init__(self, line: str, depth: int = 0) -> None:
        self.line = line
        self.at = 0
        self.depth = depth
        """How many substitutions are around the line."""
        self._unread: list[tuple[ShellCommand, str, bool]] = []
        """The here-documents that begin on the next line."""
        self._blanks, self._plain, self._quoted = (
            re.compile(pattern).match for pattern in (_BLANKS, _PLAIN, _QUOTED)
        )

    def commands(self, end: str = "") -> list[ShellCommand]:
        """Return the commands up to the sign *end*, which is read, too."""
        command = ShellCommand()
        found, parentheses, start = [command], 0, self.at
        while self.at < len(self.line):
            sign = self.line[self.at]
            if sign == end and (end == "`" or not parentheses):
                self.at += 1
                break
            if sign == "#":
                self.at = self._position("\n")
            elif match := self._blanks(self.line, self.at):
                self.at = match.end()
            elif sign in ";|()\n" or (sign == "&" and self.line[self.at + 1 : self.at + 2] != ">"):
                self.at += 1
                parentheses += {"(": 1, ")": -1}.get(sign, 0)
                if sign == "\n":
                    self._read_documents()
                if command.words or command.redirections:
                    command = ShellCommand()
                    found.append(command)
                command.operators += sign
            else:
                if not (command.words or command.redirections):
                    start = self.at
                self._read_part(command, end)
                command.typed = self.line[start : self.at]
        return [command for command in found if command.words or command.redirections or command.documents]

    def _read_part(self, command: ShellCommand, end: str) -> None:
        """Read a here-document's begin, a redirection or a word."""
        start = self.at
        if self.line[start] in "<>&0123456789":
            if match := re.compile(_DOCUMENT).match(self.line, start):
                self.at = match.end()
                self._unread.append((command, match[2], bool(match[1])))
                return
            if match := re.compile(_REDIRECTION).match(self.line, start):
                blanks = self._blanks(self.line, match.end()) or match
                self.at = match.end() if match["copied"] else blanks.end()
                file = "" if match["copied"] else self._word(command, end)
                if match[0] == "<<<":
                    command.documents.append(file)
                else:
                    command.redirections.append((match[0], file))
                return
        word = self._word(command, end)
        if word or self.line[start : self.at] in {"''", '""'}:
            command.words.append(word)
        self.at += self.at == start  # a sign that begins nothing

    def _word(self, command: ShellCommand, end: str) -> str:
        word = ""
        while self.at < len(self.line):
            sign = self.line[self.at]
            if match := self._plain(self.line, self.at):
                word += match[0]
                self.at = match.end()
            elif sign == "'":
                start = self.at + 1
                close = self._position("'", start)
                word += self.line[start:close]
                self.at = close + 1
            elif sign == '"':
                self.at += 1
                word += self.quoted(command, '"')
            elif sign == "\\":
                word += self.line[self.at + 1 : self.at + 2]
                self.at += 2
            elif self._is_substitution(sign, end):
                word += self._substitution(command)
            elif sign in "$`" and sign != end:
                word += sign
                self.at += 1
            else:
                break
        return word

    def quoted(self, command: ShellCommand, end: str) -> str:
        """Return what double quotes contain, up to the sign *end*, with the substitutions as they are written."""
        text = ""
        while self.at < len(self.line):
            sign = self.line[self.at]
            if sign == end:
                self.at += 1
                break
            if match := self._quoted(self.line, self.at):
                text += match[0]
                self.at = match.end()
            elif sign == "\\" and self.line[self.at + 1 : self.at + 2] in {'"', "\\", "$", "`"}:
                text += self.line[self.at + 1]
                self.at += 2
            elif self._is_substitution(sign, end):
                text += self._substitution(command)
            else:
                text += sign
                self.at += 1
        return text

    def _position(self, sign: str, start: int | None = None) -> int:
        """Return where a sign is next, or the end of the line."""
        found = self.line.find(sign, self.at if start is None else start)
        return len(self.line) if found < 0 else found

    def _is_substitution(self, sign: str, end: str) -> bool:
        starts = (sign == "`" and end != "`") or self.line.startswith(_SUBSTITUTIONS, self.at)
        return starts and self.depth < _DEEPEST

    def _substitution(self, command: ShellCommand) -> str:
        start, is_old = self.at, self.line[self.at] == "`"
        self.at += 1 if is_old else 2
        self.depth += 1
        command.inner += self.commands("`" if is_old else ")")
        self.depth -= 1
        return self.line[start : self.at]

    def _read_documents(self) -> None:
        for command, last, is_literal in self._unread:
            start = self.at
            match = re.compile(rf"(?m)^[ \t]*{last}[ \t]*$\n?").search(self.line, start)
            body = self.line[start : match.start() if match else len(self.line)]
            self.at = match.end() if match else len(self.line)
            command.documents.append(body)
            if not is_literal:
                _Reader(body, self.depth).quoted(command, "")
        self._unread = []
