"""The only module that prints: answers to standard output, everything else to standard error."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flowrail.cli import terminal
from flowrail.command import Command, Hint
from flowrail.storage import files
from flowrail.text.safe_text import bounded, json_visible, one_line, visible

_PIECE = 65_536
_FORMS = {"json": "data", "text": "text", "xml": "xml"}

if TYPE_CHECKING:
    from flowrail.machines.guidance.guide import Guidance
    from flowrail.text.report import Report


def show(guidance: Guidance, form: str | None) -> None:
    """Print *guidance* in the given format; by default text on a terminal, XML in a pipe."""
    terminal.together()
    form = form or usual_form()
    formatter = import_module(f"flowrail.formatters.guidance.as_{_FORMS[form]}")  # a command prints one form
    if form == "json":
        data(formatter.render(guidance))
    elif form == "text":
        report(formatter.report(guidance))
    else:
        text(formatter.render(guidance))


def show_state(guidance: Guidance) -> None:
    """Print the state of a session for a person."""
    report(import_module("flowrail.formatters.guidance.as_text").state_report(guidance))


def usual_form() -> str:
    """Return the default output format."""
    return "text" if terminal.is_for_people() else "xml"


def text(what: str) -> None:
    """Print one answer, with control characters made visible."""
    terminal.put(f"{visible(what)}\n")


def lines(what: Iterable[str]) -> None:
    """Print one answer like `text`, some lines at a time."""
    _put_in_pieces(f"{visible(line)}\n" for line in what)


def report(what: Report) -> None:
    """Print a report: as the terminal shows it, or as plain text in a pipe."""
    terminal.together()
    if terminal.is_for_people():
        utc = terminal.shows_exact_times()
        terminal.put(_console().rendered(what, has_color=terminal.has_color(), utc=utc))
    else:
        from flowrail.text.report import plain_lines  # agents' commands print no report

        lines(plain_lines(what))


def markdown(page: str) -> None:
    """Print a page in Markdown: formatted on a terminal, as it is in a pipe."""
    if terminal.is_for_people():
        terminal.put(_console().rendered_markdown(page, has_color=terminal.has_color()))
    else:
        text(page.rstrip("\n"))


def _console() -> ModuleType:
    from flowrail.cli import console  # imports rich, which only a terminal needs

    return console


def exact(document: str) -> None:
    """Print a YAML or JSON document unchanged; it contains escapes of its own."""
    terminal.put(f"{json_visible(document)}\n")


def data(what: object) -> None:
    """Print plain data as one JSON document."""
    terminal.put(f"{document(what)}\n")


def document(what: object) -> str:
    """Return plain data as one JSON document, as it is printed."""
    return json_visible(json.dumps(what, ensure_ascii=False, indent=1, default=_plain))


def _plain(value: Any) -> object:
    return str(value) if isinstance(value, (Command, Hint)) else list(value)


def listed(name: str, items: Iterable[object], after: Callable[[], Mapping[str, object]]) -> None:
    """Print one JSON document like `data`, item by item: a list of *items* called *name*, then *after*."""
    collect_garbage()  # each item of indented JSON leaves reference cycles

    def parts() -> Iterator[str]:
        yield f"{{\n {json.dumps(name)}: ["
        has_items = False
        for entry in items:
            item = document(entry).replace("\n", "\n  ")
            yield f"{',' if has_items else ''}\n  {item}"
            has_items = True
        rest = after()
        yield "\n ]" if has_items else "]"
        yield f",{document(rest)[1:-2]}" if rest else ""
        yield "\n}\n"

    _put_in_pieces(parts())


def collect_garbage() -> None:
    """Turn the garbage collector on, for commands that process large data."""
    if not gc.isenabled():
        gc.freeze()  # modules are not searched
        gc.enable()


def _put_in_pieces(parts: Iterable[str]) -> None:
    waiting, size = [], 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size > _PIECE:
            terminal.put("".join(waiting))
            waiting, size = [], 0
    terminal.put("".join(waiting))


def to_file(path: str, content: bytes, *, mode: int = 0o644) -> None:
    """Write *content* to a file that the user named; ``/dev/stdout`` is where answers go."""
    if path == "/dev/stdout":
        terminal.put_bytes(content)
    else:
        files.write_output(path, content, mode=mode)


def notes(lines: Iterable[str]) -> None:
    """Print notes for the user on standard error."""
    for line in lines:
        terminal.tell(f"flow: {bounded(one_line(line))}\n")
