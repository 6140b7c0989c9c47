"""What agents must leave to a person and to flow: commands with which a person decides, and private files.

A shell line with a person's command among its words is denied, also inside quotes or a here-document, and also if another
program gets the words. It may have them if the command only prints, searches or stores text and no pipe leads from such a
command to another program.

A shell line that names the user's state folder, or a folder above it other than to list it, or a session's journal, is
denied unless it is a `flow` command.

An agent with the user's account can imitate a person in ways that are not recognised here. The threat model says so.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from flowrail.hooks.call import Call
from flowrail.hosts.conversation import MARKS
from flowrail.hosts.host import HOSTS
from flowrail.rules.shell import ShellCommand, commands_in, without_prefixes
from flowrail.rules.tools import EDITS, READS, SHELLS, written_files

_OF_PEOPLE = frozenset({"approve", "waive", "trust"})
_FLOW = frozenset({"flow", "flowrail"})
_LAUNCHERS = r"(?:uvx?|tool|pipx|poetry|python[\d.]*)\Z"
"""Programs that run flow in the same environment and at the same terminal."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "eval"})
_PRINT = frozenset(
    {"echo", "printf", ":", "git add", "git commit", "git grep", "git log", "git notes", "git tag"}
    | {"gh issue", "gh pr", "gh release"}
)
"""Programs whose words are texts, not files."""
_LIST = frozenset({"ls", "mkdir", "stat", "test", "[", "[[", "du", "tree", "pwd", "which", "find"})
"""Programs that read no content of the folders they are given."""
_TEXT = (
    _PRINT
    | _LIST
    | frozenset(
        {"cat", "tee", "head", "tail", "less", "more", "wc", "sort", "uniq", "cut", "tr", "nl", "fold"}
    )
    | frozenset({"column", "diff", "jq", "grep", "egrep", "fgrep", "rg", "ag", "sed", "git diff", "git show"})
    | frozenset({"cd", "sleep", "true", "printenv"})
)
"""Programs that only print, search or store text."""
_SEPARATORS = r"[\s'\",\[\](){}\\`]+"
_DECISION = (
    rf"(?<![\w.-])flow(?:rail)?{_SEPARATORS}(?:-[^\s'\",]*{_SEPARATORS})*"
    r"(approve|waive|trust|answer|ui|hook\s+post-tool-use)(?![\w-])"
)
_PREFIXED = tuple(host.variable_prefix + r"\w*" for host in HOSTS if host.variable_prefix)
_VARIABLE = f"(?:{'|'.join((*MARKS, *_PREFIXED))})"
_CHANGES_CONVERSATION = rf"(?:-u|--unset=)?{_VARIABLE}(?:=.*)?\Z"
_CLEARS = frozenset({"-i", "-", "--ignore-environment"})
_JOURNAL = r"(?:sessions|handoffs)/[^/\s'\"]+/journal\.jsonl"
_SESSION_FOLDER = r"/\.flow(?:/(?:sessions|handoffs)(?:/([^/]+)(?:/([^/]+))?)?)?\Z"
_REPLACE = frozenset({"rm", "mv", "cp", "ln", "rmdir", "rsync", "shred", "truncate", "sed"})
"""Programs that remove or replace a folder, or change files in it."""
_INSTEAD = (
    "Tell the user what the decision is about, and ask them to run the command in a terminal of their own, outside "
    "this conversation. End your turn. After the decision, `flow resume` continues the session."
)


def refusal_of(call: Call) -> str | None:
    """Return why an agent may not use a tool in this way, or `None`."""
    commands = commands_in(call.shell_line)
    if any(_is_private(path, call, names_above=lists_not) for path, lists_not in _named(call, commands)):
        return "This folder proves to flow that a person acts. Agents leave it alone."
    if _changes_journal(call, commands):
        return (
            "Only flow reads and writes the journal of a session. `flow sessions ID` and `flow audit ID` show it, and "
            "`flow session abandon ID` ends a session."
        )
    verb = _verb_in(commands)
    if verb is None:
        return None
    if verb.startswith("hook"):
        return "Only the host calls `flow hook post-tool-use`: it reports what the user answered."
    written = " If the line only writes about the command, use a tool that edits files."
    is_typed = any(_flow_words(command) for command in commands)
    return f"`flow {verb}` is a person's decision. {_INSTEAD}{'' if is_typed else written}"


# --- commands of people


def _verb_in(commands: Sequence[ShellCommand], *, is_hidden: bool = False) -> str | None:
    """Return the verb of the first command that is a person's, or `None`.

    *is_hidden* means that they run in another environment than the agent's.
    """
    flat = [inner for command in commands for inner in command.flat()]
    is_hidden = is_hidden or any(map(_hides_conversation, flat))
    leads_on = any(command.is_piped and _program(command) not in _TEXT for command in flat)
    verbs = (_verb_of(command, is_hidden=is_hidden, leads_on=leads_on) for command in commands)
    return next(filter(None, verbs), None)


def _verb_of(command: ShellCommand, *, is_hidden: bool, leads_on: bool) -> str | None:
    """Return the verb of a person's command in the words of a command.

    *leads_on* means that a pipe of the line leads to a program that can do something with a text.
    """
    inner = (_verb_of(part, is_hidden=is_hidden, leads_on=leads_on) for part in command.inner)
    found = next(filter(None, inner), None)
    flow, name = _flow_words(command), _program(command)
    words = without_prefixes(command.words)
    if found or flow:
        return found or _verb_of_flow(flow, is_hidden=is_hidden)
    if name in _TEXT and not leads_on:
        return None
    if name.startswith(("$", "`")) and _OF_PEOPLE & set(words[1:2]):
        return words[1]
    if name in _SHELLS:
        line = " ".join(word for word in words[1:] if not word.startswith("-"))
        typed = [part for text in (line, *command.documents) for part in commands_in(text)]
        return _verb_in(typed, is_hidden=is_hidden)
    match = re.search(_DECISION, " ".join((*command.words, *command.documents)))
    return match[1] if match else None


def _verb_of_flow(words: list[str], *, is_hidden: bool) -> str | None:
    """Return the verb of a command of flow if it is a person's."""
    verb, *values = [word for word in words if not _is_flow(word) and not word.startswith("-")] or [""]
    is_persons = (
        (verb in _OF_PEOPLE and not {"--help", "-h"} & set(words))
        or (verb in {"answer", "ui"} and is_hidden)
        or (verb == "hook" and "post-tool-use" in values)
    )
    return verb if is_persons else None


def _flow_words(command: ShellCommand) -> list[str]:
    """Return a command from its program `flow` on; nothing if it is another one."""
    words = without_prefixes(command.words)
    if words and re.match(_LAUNCHERS, os.path.basename(words[0])):
        words = words[next((at for at, word in enumerate(words) if _is_flow(word)), len(words)) :]
    return words if words and _is_flow(words[0]) else []


def _is_flow(word: str) -> bool:
    return os.path.basename(word) in _FLOW


def _program(command: ShellCommand) -> str:
    """Return the program, with its subcommand if that is known: of `xargs` and `find -exec`, the one that they run."""
    words = without_prefixes(command.words)
    name = os.path.basename(words[0]) if words else ""
    if "-delete" in words:
        return "rm"
    if name == "xargs":
        words = words[
            next((at for at, word in enumerate(words) if at and not word.startswith("-")), len(words)) :
        ]
    elif name == "find":
        words = words[
            next((at + 1 for at, word in enumerate(words) if word.startswith(("-exec", "-ok"))), 0) :
        ]
    named = [word for word in without_prefixes(words) if not word.startswith("-")]
    name = os.path.basename(named[0]) if named else ""
    pairs = (f"{name} {word}" for word in named[1:3])
    return next((pair for pair in pairs if pair in _TEXT), name)


def _hides_conversation(command: ShellCommand) -> bool:
    """Return whether a command sets or removes the variable that names the conversation."""
    flow = _flow_words(command)
    words = command.words[: len(command.words) - len(flow)]
    if not flow and _program(command) in _TEXT:
        return False
    is_cleared = any(os.path.basename(word) == "env" for word in words) and _CLEARS & set(words)
    return (
        bool(is_cleared)
        or words[:2] == ["exec", "-c"]
        or any(re.match(_CHANGES_CONVERSATION, word) for word in words)
    )


# --- private files


def _named(call: Call, commands: Iterable[ShellCommand]) -> Iterator[tuple[str, bool]]:
    """Yield what a tool names as files, each with whether it does more than to list them."""
    if call.tool not in SHELLS:
        paths = (value for name, value in call.tool_input.items() if name != "pattern")
        given = _written(call) if call.tool in EDITS else paths
        yield from (
            (value, call.tool != "LS") for value in given if isinstance(value, str) and "\n" not in value
        )
        return
    yield from ((path, True) for path in _written(call))
    for folder, command in _commands_of_others(call, commands):
        name = _program(command)
        if name in _PRINT:
            continue
        yield folder, False
        for word in (*command.words, *command.files):
            for part in filter(None, re.split(r"[=@:<>]+", word)):
                yield os.path.join(folder, _expanded(part, call)), name not in _LIST
        for text in (*command.words, *command.files, *(() if name in _TEXT else command.documents)):
            yield from ((path, False) for path in re.findall(r"[^\s'\"()]*/[^\s'\"()]+", text))


def _commands_of_others(call: Call, commands: Iterable[ShellCommand]) -> Iterator[tuple[str, ShellCommand]]:
    """Yield each command that is not of flow, with the folder in which it runs."""
    folder = call.cwd
    for command in commands:
        for inner in command.flat():
            if not _flow_words(inner):
                yield folder, inner
        if command.words[:1] in (["cd"], ["pushd"]) and len(command.words) > 1:
            folder = os.path.join(folder, _expanded(command.words[-1], call))


def _is_private(named: str, call: Call, *, names_above: bool) -> bool:
    """Return whether a path is in the user's state folder, or with *names_above* also a folder above it."""
    path = os.path.normpath(os.path.join(call.cwd, _expanded(named, call)))
    pairs = [*zip(call.state.split(os.sep), path.split(os.sep), strict=False)]
    if not all(name == part or _fits(part, name) for name, part in pairs):
        return False
    depth = len(path.split(os.sep))
    least = len(os.path.commonpath([call.home, call.state]).split(os.sep)) + 1 if names_above else math.inf
    return depth >= min(least, len(call.state.split(os.sep)))


def _fits(pattern: str, name: str) -> bool:
    """Return whether a shell finds a name by a *pattern*, which begins with a dot if the name does."""
    return fnmatchcase(name, pattern) and (name[:1] != "." or pattern[:1] == ".")


def _changes_journal(call: Call, commands: Iterable[ShellCommand]) -> bool:
    """Return whether a tool reads or changes the journal of a session, other than with a tool that only reads."""
    if call.tool in READS:
        return False
    if any(re.search(rf"{_JOURNAL}\Z", os.path.join(call.cwd, path)) for path, _ in _named(call, ())):
        return True
    for folder, command in _commands_of_others(call, commands):
        name = _program(command)
        if name in _PRINT | _LIST:
            continue
        texts = (*command.words, *command.files, *(() if name in _TEXT else command.documents))
        if any(re.search(_JOURNAL, text) for text in texts):
            return True
        for word in (*command.words, *command.files):
            match = re.search(
                _SESSION_FOLDER, os.path.normpath(os.path.join(folder, word.rpartition("=")[2]))
            )
            if match and (fnmatchcase("journal.jsonl", match[2]) if match[2] else name in _REPLACE):
                return True
    return False


def _written(call: Call) -> Iterator[str]:
    """Yield the paths of the files that a tool writes."""
    for path in written_files(call.tool_use(call.cwd)):
        yield os.path.normpath(os.path.join(call.cwd, _expanded(path, call)))


def _expanded(word: str, call: Call) -> str:
    """Return a word with the variables that can lead to the state folder replaced."""
    state = os.path.dirname(call.state)
    word = re.sub(r"\$\{?HOME\}?|(?<!\S)~(?=/|\Z)", lambda _: call.home, word)
    return re.sub(r"\$\{?XDG_STATE_HOME\}?", lambda _: state, word)
