"""Commands with which a person decides, typed by an agent, and the known ways to look like a person.

An agent with the user's account can still imitate a person in a way that is not recognised here. The threat model says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from flowrail.hooks.call import Call
from flowrail.hosts.conversation import VARIABLES
from flowrail.hosts.host import HOSTS
from flowrail.rules.shell import simple_commands, without_prefixes
from flowrail.rules.tools import written_files

_OF_PEOPLE = frozenset({"approve", "waive", "trust"})
_FLOW = frozenset({"flow", "flowrail"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "eval"})
_TERMINALS = frozenset(
    {"script", "setsid", "expect", "unbuffer", "tmux", "screen", "socat", "dtach", "xargs", "at"}
)
"""Programs that run a command at another terminal, or in another environment."""
_PREFIXES = "|".join(rf"{re.escape(host.variable_prefix)}\w*" for host in HOSTS if host.variable_prefix)
_VARIABLE = rf"(?:{'|'.join(VARIABLES)}|{_PREFIXES})"
_CHANGES_CONVERSATION = (
    rf"(?:^|\s){_VARIABLE}=|(?:\bunset|--unset[= ]|\s-u)\s*{_VARIABLE}"
    r"|\benv\s+(?:-\S+\s+)*(?:-i|-|--ignore-environment)\s"
)
_DECISION = r"(?:^|[\s/;&|(\"'])flow(?:rail)?(?:['\",\]\s]|\s-\S+)+(approve|waive|trust|answer|ui|hook)\b"
_LINE = r"(?m)^\s*flow(?:rail)?\s+(approve|waive|trust)\s+[^\s-]"
_PERSONAL = r"\bui-|\bkey\b"
"""In the user's state folder: the file that opens the user's page, and the user's key."""
_JOURNAL = r"\.flow/(?:sessions|handoffs)/[^/]+/journal\.jsonl\Z"
_INSTEAD = (
    "Tell the user what the decision is about, and ask them to run the command in a terminal of their own, outside "
    "this conversation. End your turn. After the decision, `flow resume` continues the session."
)


def refusal_of(call: Call) -> str | None:
    """Return why an agent may not use a tool in this way, or `None`."""
    if _names_secret(call):
        return "This file proves to flow that a person acts. An agent must not read it."
    if _writes_below(call.state, call):
        return "This folder holds what the user approved. An agent must not change it."
    if any(re.search(_JOURNAL, path) for path in _written(call)):
        return "Only flow writes the journal of a session. Use its commands."
    line = call.shell_line
    verb = _verb_in(line) if "flow" in line else None
    if verb == "hook":
        return "Only the host calls `flow hook post-tool-use`: it reports what the user answered."
    return f"`flow {verb}` is a person's decision. {_INSTEAD}" if verb else None


def _names_secret(call: Call) -> bool:
    """Return whether a tool names a file in the user's state folder that only a person or flow itself reads."""
    for value in call.tool_input.values():
        text = f"{call.cwd} {value}" if isinstance(value, str) else ""
        if (call.state in text or "state/flowrail" in text) and re.search(_PERSONAL, text):
            return True
    return False


def _writes_below(folder: str, call: Call) -> bool:
    return os.path.basename(folder) in str(call.tool_input) and any(
        path.startswith(f"{folder}{os.sep}") for path in _written(call)
    )


def _written(call: Call) -> Iterable[str]:
    """Yield the paths of the files that a tool writes."""
    for path in written_files(call.tool_use(call.cwd)):
        yield os.path.normpath(os.path.join(call.cwd, os.path.expanduser(path)))


def _verb_in(line: str) -> str | None:
    """Return the verb of the first command in a shell line that is a person's."""
    commands = simple_commands(line)
    if not commands:  # it cannot be read, for example because of a quote in a text
        match = re.search(_LINE, line)
        return match[1] if match else None
    return next((verb for words in commands if (verb := _verb_of(words, commands))), None)


def _verb_of(words: Sequence[str], line: Iterable[Sequence[str]]) -> str | None:
    """Return the verb of one command of a *line* if it is a person's."""
    words = without_prefixes(words)
    if not words:
        return None
    program, *rest = words
    name = os.path.basename(program)
    if name.startswith("python") and rest[:2] == ["-m", "flowrail"]:
        name, rest = "flow", rest[2:]
    if name in _FLOW:
        verb, *values = [word for word in rest if not word.startswith("-")] or [""]
        if verb in {"answer", "ui"} and any(_hides_conversation(command) for command in line):
            return verb
        if verb == "hook" and "post-tool-use" in values:
            return verb
        is_harmless = {"--help", "-h"} & set(rest) or (verb == "trust" and not values)
        return verb if verb in _OF_PEOPLE and not is_harmless else None
    text = " ".join(rest)
    if name in _TERMINALS or (name in {"python", "python3", "perl", "ruby"} and "pty" in text.lower()):
        match = re.search(_DECISION, f" {text}")
        return match[1] if match else None
    if name in _SHELLS:
        inner = (_verb_in(word) for word in rest if "flow" in word)
        return next(filter(None, inner), None)
    return None


def _hides_conversation(words: Iterable[str]) -> bool:
    """Return whether a command sets or removes the variable that names the conversation."""
    text = " ".join(words)
    return re.search(_CHANGES_CONVERSATION, text) is not None
