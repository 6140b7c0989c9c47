"""One line of a session's journal: what happened, when, by whom, and the whole session after it.

Sessions and definitions of the first format are upgraded when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypedDict

from flowrail.errors import DocumentError, StorageError
from flowrail.machines.sessions.session import DEFINITION_FORMAT, FORMAT, Secrets, Session, without_secrets
from flowrail.storage.file_store import SideFiles
from flowrail.storage.files import sha256_hex
from flowrail.storage.journal import DamagedError, Encoding, too_large
from flowrail.storage.records import from_plain, to_plain
from flowrail.text import json as strict_json
from flowrail.text import limits


def _with_typed_parts(session: dict[str, Any]) -> dict[str, object]:
    """Upgrade format 1, which held mappings instead of records, and empty ones instead of null."""
    last, received, host = session.get("last"), session.get("received"), session.get("host")
    if last:
        names = {"passed": "skipped", "said": "answers"}
        last = {names.get(name, name): value for name, value in last.items()}
    if received:
        names = {"from": "source", "arrived": "origin"}
        received = {names.get(name, name): value for name, value in received.items()}
    names = {"graph": "workflow_fingerprint", "here": "step_fingerprint"}
    return {
        **{names.get(name, name): value for name, value in session.items()},
        "format": 2,
        "last": last,
        "parent": session.get("parent") or None,
        "received": received or None,
        "host": host or None,
    }


def _with_named_rules_and_variants(data: dict[str, object]) -> dict[str, object]:
    """Return a stored definition in which rules and variants are mappings, as in a workflow file."""
    workflow = data.get("workflow")
    steps = workflow.get("steps") if isinstance(workflow, dict) else None
    if not isinstance(workflow, dict) or not isinstance(steps, list):
        return data
    return {**data, "workflow": {**workflow, "steps": [_step_with_names(step) for step in steps]}}


def _step_with_names(step: object) -> object:
    if not isinstance(step, dict):
        return step
    named = dict(step)
    for key, names in (("rules", ("outcome", "if")), ("variants", ("when", "actions"))):
        if isinstance(step.get(key), list):
            named[key] = [
                dict(zip(names, item, strict=False)) if isinstance(item, list) else item for item in step[key]
            ]
    return named


class NewerFormatError(StorageError):
    """A later version of flowrail wrote the file."""

    code = "NEWER_FORMAT"


def session_of_today(data: dict[str, Any]) -> dict[str, object]:
    """Return a session as it was written, in the newest format."""
    return _with_typed_parts(data) if _format_of(data, FORMAT, "session") == 1 else data


@dataclass(frozen=True)
class StoredDefinition:
    """The workflow as a session uses it, and where it came from."""

    skill: str
    source: str
    folder: str
    """The skill's folder: its name if the skill is bundled, and empty if a Python program defined the workflow."""
    file: str
    """The workflow's file in the folder."""
    files: Mapping[str, str]
    """The digests of all files that were read."""
    functions: bool
    """Whether code of the author is needed to continue."""
    workflow: Mapping[str, Any]
    format: int = DEFINITION_FORMAT

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The steps as they are stored."""
        steps: Sequence[Mapping[str, Any]] = self.workflow["steps"]
        return steps


def read_definition(data: bytes) -> StoredDefinition:
    """Return the definition in *data*, in the newest format; `ValueError` if it has another form."""
    value = strict_json.parse(data.decode())
    stored = value if isinstance(value, dict) else {}  # which lacks every key
    if _format_of(stored, DEFINITION_FORMAT, "definition") == 1:
        stored = _with_named_rules_and_variants(stored)
    current = {
        key: item for key, item in stored.items() if key not in {"mac", "texts"}
    }  # of earlier versions
    definition = from_plain(current, StoredDefinition)
    steps = definition.workflow.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise ValueError("it has no steps")
    return definition


def _format_of(data: Mapping[str, object], newest: int, kind: str) -> int:
    """Return the format of *data*, by default the first; refuse a format that is later than *newest*."""
    number = data.get("format", 1)
    if type(number) is not int or not 1 <= number <= newest:
        shown = str(number)[:20] if isinstance(number, (int, float, str)) else type(number).__name__
        raise NewerFormatError(
            f"the {kind} is of format {shown}; {newest} is the newest known here",
            hint="use the version of flowrail that wrote it, or a later one",
            format=number if type(number) is int else shown,
        )
    return number


TEXTS_FOLDER = "texts"
MARK = "$file"
_REFERENCE, _ESCAPED = {MARK, "bytes"}, {MARK, "value"}
_MARK_IN_JSON = f'"{MARK}"'.encode()
_NAME = rf"{TEXTS_FOLDER}/([0-9a-f]{{64}})\.txt\Z"

LoadText = Callable[[str, int], str]
"""From the name of a file and its size to the text in it."""


class TextDamagedError(DamagedError):
    """A long text of a session was changed or is missing."""

    code = "TEXT_DAMAGED"


class ForkOrigin(TypedDict):
    """The record that a session was forked from."""

    session: str
    revision: int
    hash: str


RecordNote = TypedDict(
    "RecordNote",
    {
        "found": str,
        "remember": str,
        "reason": str,
        "taken_over_from": str,
        "dispatch": str,
        "holder": str | None,
        "child": str | None,
        "outcome": str | None,
        "dispatches": list[Mapping[str, Any]],
        "claim": str,
        "missing": Sequence[str],
        "check": str,
        "verdict": str,
        "command": str,
        "run": str,
        "output": str,
        "finding": str,
        "finder": str,
        "questions": Sequence[str],
        "answers": Mapping[str, Sequence[str]],
        "for": str,
        "times": int,
        "from": int | str | ForkOrigin,
        "to": int | str,
        "into": str,
        "at": int,
        "renamed": Mapping[str, str],
        "text_only": Sequence[str],
        "compatible": Sequence[str],
        "changed": Sequence[str],
        "gone": Sequence[str],
        "new": Sequence[str],
        "definition": str,
        "accepted": bool,
        "handoff": str,
        "target": str,
        "payload": str,
        "sha256": str,
    },
    total=False,
)
"""The data of a record besides the session: the keys that apply to its kind.

`from` and `to` are revisions if a session was rewound, and fingerprints of workflows if it was migrated.
"""


def memory_note(found: str, remember: str) -> RecordNote:
    """Return the note of a record that is not a move and that has memories."""
    note: RecordNote = {}
    if found:
        note["found"] = found
    if remember:
        note["remember"] = remember
    return note


@dataclass(frozen=True)
class Record:
    """A line of the journal: one change, and the session after it."""

    seq: int
    kind: str
    at: str
    """The time of the change."""
    by: str
    """The user, or the name given with `--as`."""
    session: Session
    note: RecordNote
    prev: str
    hash: str = ""
    definition: str = ""
    """The digest of the workflow that the session uses after the change."""
    conversation: str = ""
    """The conversation of a host that wrote the record; empty if a person or a program without one did."""

    @property
    def head(self) -> str:
        """The short hash of the record."""
        return self.hash[:16]

    @property
    def shown(self) -> Record:
        """The record as people may see it, without the values of secrets."""
        if not self.session.secrets:
            return self
        note = Secrets(self.session).hide(self.note)
        return replace(self, session=without_secrets(self.session), note=note)


def encoding(side_files: SideFiles) -> Encoding[Record]:
    """Return how the records of the session with these side files are written and read."""
    load = text_loader(side_files)

    def decode(data: dict[str, Any], line: bytes) -> Record:
        if _has_references(line):
            data = join_texts(data, load)
        if data["session"].get("format") != FORMAT:
            data["session"] = session_of_today(data["session"])
        return from_plain(data, Record)

    return Encoding(_encode, decode, _split)


def _encode(record: Record) -> dict[str, object]:
    data: dict[str, object] = to_plain(record)
    del data["hash"]
    return data


def _split(data: dict[str, object], line: bytes) -> tuple[dict[str, object], dict[str, bytes]] | None:
    if len(line) <= limits.INLINE_TEXT_BYTES and not _has_references(line):
        return None
    texts: dict[str, bytes] = {}
    short = split_texts(data, texts)
    check_size(texts)
    return short, texts


def split_texts(value: object, texts: dict[str, bytes]) -> Any:
    """Return plain data with its long texts replaced by references, and add those texts to *texts*."""
    if isinstance(value, str):
        return value if is_short(value) else _reference(value, texts)
    if isinstance(value, Mapping):
        plain = {key: split_texts(item, texts) for key, item in value.items()}
        return {MARK: None, "value": plain} if MARK in plain else plain
    if isinstance(value, (list, tuple)):
        return [split_texts(item, texts) for item in value]
    return value


def join_texts(value: object, load: LoadText) -> Any:
    """Return the data that `split_texts` received, with every text loaded; `ValueError` if the references are invalid."""
    if isinstance(value, dict):
        if MARK not in value:
            return {key: join_texts(item, load) for key, item in value.items()}
        name, inner, size = value[MARK], value.get("value"), value.get("bytes")
        if name is None and type(inner) is dict and value.keys() == _ESCAPED:
            return {key: join_texts(item, load) for key, item in inner.items()}
        if type(name) is not str or type(size) is not int or value.keys() != _REFERENCE:
            raise ValueError("a reference to a long text has the wrong form")
        return load(name, size)
    if isinstance(value, list):
        return [join_texts(item, load) for item in value]
    return value


def _has_references(line: bytes) -> bool:
    """Return whether a record's line may name long texts."""
    return _MARK_IN_JSON in line


def check_size(texts: Mapping[str, bytes]) -> None:
    """Refuse texts that are too long together."""
    total = sum(map(len, texts.values()))
    if total > limits.LONG_TEXTS_BYTES:
        raise too_large("the long texts of the session", total, limits.LONG_TEXTS_BYTES)


def text_loader(side_files: SideFiles) -> LoadText:
    """Return a function that loads the texts of one session and refuses a text that was changed.

    Many records name the same texts, so the function keeps as many in memory as one record may have.
    """
    most = limits.LONG_TEXTS_BYTES // limits.INLINE_TEXT_BYTES
    return lru_cache(maxsize=most)(partial(_read, side_files))


def is_short(text: str) -> bool:
    """Return whether *text* is written into the record itself."""
    if 4 * len(text) <= limits.INLINE_TEXT_BYTES:
        return True
    return len(text.encode("utf-8", "surrogatepass")) <= limits.INLINE_TEXT_BYTES


def _read(side_files: SideFiles, name: str, size: int) -> str:
    match = re.match(_NAME, name)
    if match is None:
        raise ValueError(f"`{name[:80]}` is not the name of a text")
    try:
        data = side_files.read(name, max(0, size), "a text of the session")
    except DocumentError as error:
        raise _damaged(error.message) from None
    if len(data) != size or sha256_hex(data) != match.group(1):
        raise _damaged(f"{name} is not as it was written")
    return data.decode("utf-8", "surrogatepass")


def _reference(text: str, texts: dict[str, bytes]) -> dict[str, object]:
    data = text.encode("utf-8", "surrogatepass")
    name = f"{TEXTS_FOLDER}/{sha256_hex(data)}.txt"
    texts[name] = data
    return {MARK: name, "bytes": len(data)}


def _damaged(problem: str) -> TextDamagedError:
    return TextDamagedError("", 0, problem)
