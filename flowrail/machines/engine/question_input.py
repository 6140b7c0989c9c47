"""Parse an agent's questions strictly: a block of XML, or the same as JSON.

All problems are reported at once. A document type declaration is refused where it starts,
so that there are no entities but the five of XML itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn
from xml.parsers import expat

from flowrail.command import Hint
from flowrail.errors import DocumentError
from flowrail.machines.definition.step_parts import (
    Option,
    Path,
    Question,
    problems_in,
)
from flowrail.text import json as strict_json
from flowrail.text import limits
from flowrail.text.safe_text import in_quotes
from flowrail.text.yaml import lines_of

MOST_NAMED = 20  # mistakes that one message names
_HINT = """\
send only a block of this form, or the same as JSON:
  <needs_user_input>
  <question id="cache" header="Cache" multi="false">
  <text>Where should the cache be kept?</text>
  <option label="In memory">Nothing to run; empty after a restart</option>
  <option label="Redis">Shared by all hosts; one more service to run</option>
  </question>
  </needs_user_input>"""
_SHOWN = 40  # characters of the document's own that a message quotes


class QuestionsError(DocumentError):
    """A text does not contain valid questions; ``details`` list the problems, each with its place."""

    code = "BAD_QUESTIONS"

    def __init__(self, source: str, problems: Sequence[tuple[str, str]], *, hint: str | Hint = _HINT) -> None:
        lines = "".join(f"\n  {where}: {what}" for where, what in problems[:MOST_NAMED])
        more = f"\n  and {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
        one = len(problems) == 1
        super().__init__(
            problems[0][1] if one else f"{len(problems)} problems in the questions{lines}{more}",
            hint=hint,
            place=problems[0][0] if one else source,
            problems=[{"place": where, "message": what} for where, what in problems[:MOST_NAMED]],
            count=len(problems),
        )


def parse_questions(text: str, *, source: str) -> tuple[Question, ...]:
    """Return the questions in *text*, a ``needs_user_input`` block or JSON.

    Only white space may be around them. An ``answer`` on the block is ignored. JSON is
    ``{"questions": […]}`` or the list, with the keys ``id header text options multi_select default
    deadline`` and ``label description``.
    """
    if len(text.encode("utf-8", "surrogatepass")) > limits.TEXT_BYTES:
        raise _only(source, source, f"more than {limits.TEXT_BYTES} bytes")
    start = text.strip()
    first = text[: len(text) - len(text.lstrip())].count("\n")
    if start.startswith("<"):
        return _read_block(_Tree(source, first).read(start), source)
    if start.startswith(("{", "[")):
        return _read_json("\n" * first + start, source)
    raise _only(source, f"{source}:{first + 1}", "neither a needs_user_input block nor JSON")


class _Problems:
    """Everything that is wrong with the questions of one text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[Path, int] = {}
        self.known: set[Path] = set()
        self.problems: list[tuple[str, str]] = []

    def wrong(self, path: Path, message: str, line: int | None = None) -> None:
        """Add a problem with the value at *path*."""
        self.known.add(path)
        self.problems.append((self._place(path, line), f"{_subject(path)}{message}"))

    def finish(self, questions: Sequence[Question]) -> tuple[Question, ...]:
        """Return *questions* if there are no problems. Problems that only follow from another are left out."""
        known = frozenset(self.known)
        for path, message in problems_in(questions):
            if not any(path[:end] in known for end in range(len(path) + 1)):
                self.wrong(path, message)
        if self.problems:
            raise QuestionsError(self.source, self.problems)
        return tuple(questions)

    def _place(self, path: Path, line: int | None) -> str:
        near = (self.lines.get(path[:end]) for end in range(len(path), -1, -1))
        line = line or next((each for each in near if each is not None), None)
        return self.source if line is None else f"{self.source}:{line}"


def _subject(path: Path) -> str:
    """Return a path in words, for the beginning of a message."""
    words: list[str] = []
    for before, part in pairwise(("question", *path)):
        if isinstance(part, str):
            words.append(part)
        else:
            words[-1:] = [f"{'option' if before == 'options' else before} {part + 1}"]
    return f"{', '.join(words)} " if words else ""


def _only(source: str, place: str, message: str) -> QuestionsError:
    return QuestionsError(source, [(place, message)])


def _shown(name: str) -> str:
    """Return a name from the document as a message may show it."""
    return f"`{in_quotes(name[:_SHOWN] if name.isprintable() else ascii(name[:_SHOWN]))}`"


# --- XML


class _Element:
    """One element: its attributes, its content, and its first line."""

    __slots__ = ("attributes", "children", "line", "name", "pieces")

    def __init__(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.line = line
        self.children: list[_Element] = []
        self.pieces: list[str] = []

    @property
    def text(self) -> str:
        """The characters in the element itself."""
        return "".join(self.pieces).strip()


class _Tree:
    """Elements and characters as expat reports them, without recursion; anything else is refused."""

    def __init__(self, source: str, first_line: int) -> None:
        self.source = source
        self.first_line = first_line
        self.top = _Element("", {}, 1)
        self.open = [self.top]
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _: self.open.pop()
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = lambda *_: self._refuse("a document type")
        parser.XmlDeclHandler = lambda *_: self._refuse("an XML declaration")
        parser.ProcessingInstructionHandler = lambda *_: self._refuse("a processing instruction")
        parser.CommentHandler = lambda _: self._refuse("a comment")

    def read(self, text: str) -> _Element:
        """Return the root element of *text*."""
        try:
            self.parser.Parse(text.encode("utf-8", "surrogatepass"), True)
        except expat.ExpatError as error:
            place = f"{self.source}:{error.lineno + self.first_line}"
            raise _only(self.source, place, f"not well-formed XML: {expat.ErrorString(error.code)}") from None
        return self.top.children[0]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        node = _Element(name, attributes, self._line)
        self.open[-1].children.append(node)
        self.open.append(node)

    def _characters(self, piece: str) -> None:
        self.open[-1].pieces.append(piece)

    @property
    def _line(self) -> int:
        return self.parser.CurrentLineNumber + self.first_line

    def _refuse(self, what: str) -> NoReturn:
        raise _only(self.source, f"{self.source}:{self._line}", f"{what} is not allowed here")


def _read_block(root: _Element, source: str) -> tuple[Question, ...]:
    if root.name != "needs_user_input":
        raise _only(
            source, f"{source}:{root.line}", f"{_shown(root.name)} is used instead of needs_user_input"
        )
    found = _Problems(source)
    found.lines[()] = root.line
    nodes = _within(root, ("question",), ("answer",), found, ())
    return found.finish([_question(node, (index,), found) for index, node in enumerate(nodes)])


def _question(node: _Element, path: Path, found: _Problems) -> Question:
    found.lines[path] = node.line
    children = _within(
        node, ("text", "option"), ("id", "header", "multi", "default", "deadline"), found, path
    )
    texts = [child for child in children if child.name == "text"]
    for child in texts:
        _within(child, (), (), found, (*path, "text"))
        found.lines.setdefault((*path, "text"), child.line)
    for child in texts[1:]:
        found.wrong((*path, "text"), "stands twice", child.line)
    options = [child for child in children if child.name == "option"]
    given = node.attributes
    multi = given.get("multi", "false")
    if multi not in {"true", "false"}:
        found.wrong((*path, "multi"), "is not true or false")
    deadline = given.get("deadline")
    if deadline is not None and not (deadline.isascii() and deadline.isdigit() and len(deadline) < 10):  # noqa: PLR2004
        found.wrong((*path, "deadline"), "is not a number of seconds")
        deadline = None
    return Question(
        given.get("id", ""),
        given.get("header", ""),
        texts[0].text if texts else "",
        [_option(child, (*path, "options", index), found) for index, child in enumerate(options)],
        multi == "true",
        given.get("default"),
        None if deadline is None else int(deadline),
    )


def _option(node: _Element, path: Path, found: _Problems) -> Option:
    found.lines[path] = node.line
    _within(node, (), ("label",), found, path)
    return Option(node.attributes.get("label", ""), node.text)


def _within(
    node: _Element, names: Sequence[str], attributes: Sequence[str], found: _Problems, path: Path
) -> list[_Element]:
    """Return the allowed children of *node*; anything else in it is a problem."""
    for name in node.attributes:
        if name not in attributes:
            found.wrong((*path, "attribute"), f"{_shown(name)} is not known", node.line)
    for child in node.children:
        if child.name not in names:
            found.wrong((*path, "element"), f"{_shown(child.name)} is not allowed in {node.name}", child.line)
    if names and node.text:
        found.wrong((*path, "text between"), f"the elements of {node.name}", node.line)
    return [child for child in node.children if child.name in names]


# --- JSON

_TEXTS = dict.fromkeys(("id", "header", "text", "default"), str)
_QUESTION_KEYS = {**_TEXTS, "options": list, "multi_select": bool, "deadline": int}
_OPTION_KEYS = {"label": str, "description": str}
_KINDS = {str: "a text", list: "a list", bool: "true or false", int: "a number of seconds", dict: "an object"}


def _read_json(text: str, source: str) -> tuple[Question, ...]:
    try:
        value = strict_json.load(text, source=source)
    except DocumentError as error:
        raise QuestionsError(source, [(error.place, error.fact)], hint=error.hint) from None
    found, lines = _Problems(source), dict(lines_of(text))
    first = f"{source}:{lines.get((), 1)}"
    if isinstance(value, dict):
        if set(value) != {"questions"}:
            raise _only(source, first, "the object must have exactly one key, `questions`")
        value = value["questions"]
        lines = {path[1:]: line for path, line in lines.items() if path}
    if not isinstance(value, list):
        raise _only(source, f"{source}:{lines.get((), 1)}", "`questions` is not a list")
    found.lines = lines
    return found.finish([_from_json(each, (index,), found) for index, each in enumerate(value)])


def _from_json(value: object, path: Path, found: _Problems) -> Question:
    given = _fitting(value, _QUESTION_KEYS, path, found)
    options = enumerate(given.get("options", []))
    return Question(
        given.get("id", ""),
        given.get("header", ""),
        given.get("text", ""),
        [_option_from_json(each, (*path, "options", index), found) for index, each in options],
        given.get("multi_select", False),
        given.get("default"),
        given.get("deadline"),
    )


def _option_from_json(value: object, path: Path, found: _Problems) -> Option:
    given = _fitting(value, _OPTION_KEYS, path, found)
    return Option(given.get("label", ""), given.get("description", ""))


def _fitting(value: object, keys: Mapping[str, type], path: Path, found: _Problems) -> dict[str, Any]:
    """Return the part of *value* that has the right kind; the rest is a problem."""
    if not isinstance(value, dict):
        found.wrong(path, "is not an object")
        return {}
    fits: dict[str, object] = {}
    for name, item in value.items():
        if name not in keys:
            found.wrong((*path, "key"), f"{_shown(name)} is not known", found.lines.get((*path, name)))
        elif type(item) is not keys[name]:
            found.wrong((*path, name), f"is not {_KINDS[keys[name]]}")
        else:
            fits[name] = item
    return fits
