"""A printed command as the call of a tool that does the same.

What an agent is told names commands. Where it has tools instead of a shell, each command stands as the tool's
name and its arguments; one that belongs to another store stays a command.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flowrail.machines.definition.command_line import words_of
from flowrail.machines.definition.step import DONE, REPORTABLE
from flowrail.text.markup import xml_attribute, xml_text

_COMMAND = re.compile(
    r"(?<![\w/.-])flow (?:step|start|resume|status|claim|finish|ask|answer|finding add|handoff)\b[^\n<`]*"
)
_TAG = re.compile(r"<(?P<closing>/?)(?P<name>[\w:-]+)[^<>]*?(?P<empty>/?)>")
_ATTRIBUTE = re.compile(r'(?<=\sanswer=")[^"]*(?=")')
_OURS = frozenset({"case", "dispatch", "option", "resumed", "finding_command", "ask_command"})
"""Elements that hold a command and nothing else; what is no command there is somebody's text."""
_OTHERS = frozenset({"finding", "user_said", "answered", "text", "var"})
"""Elements that hold what somebody else said."""
_GIVEN = frozenset({"params", "facts", "vars", "item", "result", "example", "handoff_payload"})
"""Keys of data below which stands what somebody else gave, whatever it is called there."""
_LISTED = re.compile(r"`flow (sessions(?: --all)?|list|show [\w/-]+|handoff targets)`")
_LISTS = {"sessions": "status {}", "list": "discover {}", "show": "discover {}"}
_TARGETS = 'discover {"what": "targets"}'
"""What lists sessions, skills and targets; of others as they are named in messages."""
_OPTIONS = {
    "--session": "session",
    "--token": "token",
    "--as": "holder",
    "--reason": "reason",
    "--sha256": "sha256",
    "--format": "",
}
_ASSIGNED = {"-s": "facts", "--set": "facts", "-p": "params", "--param": "params"}


class Call(NamedTuple):
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, Any]

    @property
    def said(self) -> str:
        """The call as it stands in a text."""
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False)}"


def call_of(command: str, store: str) -> Call | None:
    """Return the call that does what *command* does; `None` for what is no such command of this *store*."""
    try:
        program, verb, *words = words_of(command)
    except ValueError:
        return None
    parsed = _parsed(words, store)
    if program != "flow" or parsed is None:
        return None
    read = {"answer": _answered, "handoff": _handed}.get(verb)
    named = read(parsed[0]) if read else _named(verb, parsed[0])
    return None if named is None else Call(_TOOL.get(verb, verb), named | parsed[1])


def in_calls(text: str, store: str, *, markup: bool) -> str:
    """Return *text* with every command of ours that stands in it as the call of a tool.

    In *markup* a tag changes in the one attribute that holds a command, and what others said not at all.
    """
    if not markup:
        return _said(text, store, str, str)
    shown: list[str] = []
    inside: list[str] = [""]
    end = 0
    for tag in _TAG.finditer(text):
        shown.append(_content(text[end : tag.start()], inside[-1], store))
        shown.append(_ATTRIBUTE.sub(lambda found: _whole(found.group(), store, xml_attribute), tag.group()))
        end = tag.end()
        if not tag["closing"] and not tag["empty"]:
            inside.append(tag["name"])
        elif tag["closing"] and tag["name"] in inside:
            del inside[len(inside) - inside[::-1].index(tag["name"]) - 1 :]
    return "".join([*shown, _content(text[end:], inside[-1], store)])


def _content(text: str, element: str, store: str) -> str:
    """Return what stands in an *element*: a command of ours, somebody's words, or a text that may name commands."""
    if element in _OTHERS:
        return text
    return _whole(text, store, xml_text) if element in _OURS else _said(text, store, xml_text, html.unescape)


def _whole(text: str, store: str, escaped: Callable[[str], str]) -> str:
    made = call_of(html.unescape(text), store)
    return text if made is None else escaped(made.said)


def _said(text: str, store: str, escaped: Callable[[str], str], plain: Callable[[str], str]) -> str:
    def call(found: re.Match[str]) -> str:
        command = found.group().rstrip()
        made = call_of(plain(command), store)
        return found.group() if made is None else escaped(made.said) + found.group()[len(command) :]

    return _COMMAND.sub(call, _LISTED.sub(_listing, text))


def _listing(found: re.Match[str]) -> str:
    verb = found.group(1).split()[0]
    return f"`{_LISTS.get(verb, _TARGETS)}`"


def with_calls(data: Any, store: str) -> Any:
    """Return plain data in which beside each command of ours its call stands."""
    if isinstance(data, list):
        return [with_calls(each, store) for each in data]
    if not isinstance(data, dict):
        return data
    found: dict[str, Any] = {}
    for key, value in data.items():
        found[key] = value if key in _GIVEN else with_calls(value, store)
        if isinstance(value, str) and (key == "command" or key.endswith("_command")):
            call = call_of(value, store)
            found[key.removesuffix("command") + "call"] = None if call is None else call._asdict()
    return found


def _parsed(words: Sequence[str], store: str) -> tuple[list[str], dict[str, Any]] | None:
    """Return the words of a command that are no options, and its options; `None` for one of another store."""
    plain: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        if word == "--cancel":
            given["cancel"] = True
            continue
        value = next(rest, "")
        if word == "--store":
            if value != store:
                return None
        elif word == "--expect" and value.isdigit():
            given["expect"] = int(value)
        elif word in _ASSIGNED:
            name, equals, said = value.partition("=")
            if not equals:
                return None
            given.setdefault(_ASSIGNED[word], {})[name] = said
        elif _OPTIONS.get(word):
            given[_OPTIONS[word]] = value
        else:
            return None
    return plain, given


_WORDS: dict[str, tuple[str, ...]] = {
    "step": ("skill", "outcome"),
    "start": ("skill",),
    "resume": ("session",),
    "status": ("session",),
    "claim": ("session", "dispatch"),
    "finish": ("session", "dispatch", "outcome"),
    "ask": ("session", "-"),
    "finding": ("add", "session"),
}
"""What the words of each command are; the outcome of a step may be left out."""
_FIXED = {"add", "-"}
_REPORTS = {DONE, *(str(outcome) for outcome in REPORTABLE)}
_TOOL = {"resume": "step"}
_HANDED = {"send": "target", "receive": "file", "status": "handoff", "retry": "handoff", "cancel": "handoff"}


def _named(verb: str, words: Sequence[str]) -> dict[str, Any] | None:
    """Return the words of a command by their names; `None` where it has others."""
    names = _WORDS.get(verb, ())
    if not names:
        return None
    if verb == "step" and len(words) == 1:
        names = names[:1]
    if verb == "finish" and len(words) == 2:  # noqa: PLR2004 - called off, so without an outcome
        names = names[:2]
    if verb == "step" and words[1:] and words[1] not in _REPORTS:
        return None  # prose, such as "flow step by step"
    if len(words) != len(names) or any(
        n in _FIXED and n != word for n, word in zip(names, words, strict=True)
    ):
        return None
    return {name: word for name, word in zip(names, words, strict=True) if name not in _FIXED}


def _handed(words: Sequence[str]) -> dict[str, Any] | None:
    """Return what the words of a handoff's command say: what is done, and with what."""
    if len(words) != 2 or words[0] not in _HANDED:  # noqa: PLR2004 - an action and its object
        return None
    return {"action": words[0], _HANDED[words[0]]: words[1]}


def _answered(words: Sequence[str]) -> dict[str, Any] | None:
    """Return what an answer's words say; several to one question as a list."""
    answers: dict[str, list[str]] = {}
    for pair in words[1:]:
        name, equals, said = pair.partition("=")
        if not equals:
            return None
        answers.setdefault(name, []).append(said)
    if not answers:
        return None
    plain = {name: said[0] if len(said) == 1 else said for name, said in answers.items()}
    return {"session": words[0], "answers": plain}
