"""What a code means: of a finding of `flow check`, of an error, or of a note about a skill.

The page of a finding is the one in the reference. A wheel contains these pages; a checkout has them in `docs`. The text
about an error is the docstring of its class.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import flowrail
from flowrail.discovery.diagnostics import CODES as NOTES
from flowrail.errors import UsageError
from flowrail.machines.definition.findings import CODES as FINDINGS
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean

PACKAGE = os.path.dirname(flowrail.__file__)
_CODE = re.compile(r'^    code(?:: ClassVar\[str\])? = "([A-Z_]+)"$', re.MULTILINE)
_CLASS = re.compile(r"^class \w+\(\w*(?:Error|Exception)\w*\):", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_LAST_LINK = re.compile(r"\n\[All findings\]\(.*\)\n*\Z")


class ExitStatus(NamedTuple):
    """What an exit status means, and what to do."""

    meaning: str
    remedy: str


EXIT_STATUSES = {
    0: ExitStatus("success", "continue"),
    1: ExitStatus("failure: findings, or an error in an author's handler", "read the findings"),
    2: ExitStatus("wrong use: an unknown name, an invalid value, an unreadable file", "fix the command"),
    3: ExitStatus("the disk or the store failed", "make room, run the command again"),
    4: ExitStatus("the command does not match the current state", "look at the state: `flow status`"),
    5: ExitStatus("the workflow changed during the session", "`flow session migrate`"),
    6: ExitStatus("a handoff was refused", "read the reasons"),
    7: ExitStatus("the code is not approved", "ask a person to run `flow skill trust`"),
}


class Explanation(NamedTuple):
    """A code and its page in Markdown."""

    code: str
    kind: str
    page: str


class _ErrorClass(NamedTuple):
    """What the source says about a class of errors; code and exit status may be those of a base."""

    code: str
    exit_status: int
    bases: tuple[str, ...]
    about: str


class UnknownCodeError(UsageError):
    """No finding, error or note has this code."""

    code = "UNKNOWN_CODE"


def explain(code: str) -> Explanation:
    """Return what *code* means. Small letters are fine."""
    wanted = code.upper()
    if wanted in FINDINGS:
        return Explanation(wanted, "finding", _finding_page(wanted))
    if wanted in _codes():
        errors = _errors()
        same = [error for error in errors.values() if error.code == wanted]
        page = _error_page(wanted, [error.about for error in same], _status(same[0], errors))
        return Explanation(wanted, "error", page)
    if wanted in NOTES:
        note = NOTES[wanted]
        text = f"`flow discover` and `flow doctor` report it: {note.severity}.\n\nWhat to do: {note.hint}."
        return Explanation(wanted, "note", f"# {wanted}\n\n{text}\n")
    likely = sorted(
        known_codes(), key=lambda known: known[:1] != wanted[:1]
    )  # only some of them are compared
    raise UnknownCodeError(
        f"unknown code `{code[:40]}`",
        hint=did_you_mean(wanted[:40], likely, "codes are in brackets after a message, such as FR163"),
        name=code[:40],
    )


def known_codes() -> list[str]:
    """Return every code that can be explained."""
    return [*dict.fromkeys([*FINDINGS, *NOTES, *_codes()])]


@cache
def _errors() -> dict[str, _ErrorClass]:
    """Return the error classes of the package by name, read from its source: nothing is imported."""
    found: dict[str, _ErrorClass] = {}
    for source in _sources():
        if _CLASS.search(source):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ClassDef):
                    found[node.name] = _error_class(node)
    return found


def _error_class(node: ast.ClassDef) -> _ErrorClass:
    values: dict[str, object] = {}
    for statement in node.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        target = statement.target if isinstance(statement, ast.AnnAssign) else target
        value = getattr(statement, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
            values[target.id] = value.value
    status = values.get("exit_status")
    return _ErrorClass(
        str(values.get("code", "")),
        status if isinstance(status, int) else 0,
        tuple(base.id for base in node.bases if isinstance(base, ast.Name)),
        ast.get_docstring(node) or "",
    )


def _sources() -> Iterator[str]:
    """Yield the source of each module of the package."""
    for folder, folders, names in os.walk(PACKAGE):
        folders[:] = [name for name in folders if folder != PACKAGE or name != "bundled"]
        for name in sorted(names):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    yield file.read()


@cache
def _codes() -> tuple[str, ...]:
    return tuple(code for source in _sources() for code in _CODE.findall(source))


def _status(error: _ErrorClass, errors: Mapping[str, _ErrorClass]) -> int:
    """Return the exit status of an error: its own, or that of its nearest base."""
    if error.exit_status:
        return error.exit_status
    return next((_status(errors[base], errors) for base in error.bases if base in errors), 1)


def _finding_page(code: str) -> str:
    installed = os.path.join(PACKAGE, "findings")
    checkout = os.path.join(os.path.dirname(PACKAGE), "docs", "reference", "findings")
    folder = installed if os.path.isdir(installed) else checkout
    data = read_bounded(os.path.join(folder, f"{code}.md"), limit=limits.TEXT_BYTES, what="the page")
    return _LAST_LINK.sub("", _COMMENT.sub("", data.decode()))


def _error_page(code: str, abouts: Sequence[str], status: int) -> str:
    meaning = EXIT_STATUSES[status]
    ending = f"Exit status {status}: {meaning.meaning}. What to do: {meaning.remedy}."
    hint = "The line below the message says what to do in that case."
    return "\n\n".join([f"# {code}", *abouts, ending, hint]) + "\n"
