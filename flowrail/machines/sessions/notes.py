"""What the note of each kind of record holds, as far as anybody reads it.

Our own notes are so. A journal that came with a clone may say anything in them, also where its hashes are
right; what it says is looked at once, where records are read, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowrail.machines.sessions.attachments import MARK
from flowrail.storage.journal import Record

MOST_DEEP = 64
"""How deep a note may be nested; ours hold facts and answers at most, which are read with less."""

LONGEST_WORD = 1_000
MOST_PASSED, MOST_PASSED_IN_ALL = 1_000, 100_000
"""So many steps are passed over by one move; ours pass over those of a workflow that do not apply. And in one journal."""
MOST_MIGRATIONS = 200
"""So many are followed in a journal of somebody else: each renames all that was before it."""
MOST_RECORDS, LARGEST_JOURNAL = 20_000, 64 * 1024 * 1024
"""So many records, and bytes of them, are read of a journal of somebody else; what is told of each is kept."""
TOO_LONG = "somebody else's journal goes on beyond all that is read of one"


def is_too_much(records: int, size: int, passed: int) -> bool:
    """Return whether so many *records* of *size* bytes, which passed over so many steps, are more than is read."""
    return records > MOST_RECORDS or size > LARGEST_JOURNAL or passed > MOST_PASSED_IN_ALL


def too_long_in(record: Record) -> str | None:
    """Return which part of a record is longer than anything of ours that is told of every record."""
    session, last = record.session, record.session.last
    words: dict[str, str | None] = {name: getattr(record, name) for name in ("kind", "at", "by")}
    words |= {name: getattr(session, name) for name in _TOLD}
    if last is not None:
        words |= {f"last.{name}": getattr(last, name) for name in _TOLD_OF_MOVES}
    for name, word in words.items():
        if word is not None and len(word) > LONGEST_WORD:
            return f"`{name}` has more than {LONGEST_WORD} characters"
    if last is not None and len(last.passed) > MOST_PASSED:
        return f"`last.passed` has more than {MOST_PASSED} steps"
    return None


def wrong_in(kind: str, note: Mapping[str, Any]) -> str | None:
    """Return what in the *note* of a record of that *kind* is of another form, `None` where nothing is."""
    needed = _NEEDED.get(kind, ())
    if kind == "fork":
        needed = ("at",) if "into" in note else ("from",)
    for name in needed:
        if name not in note:
            return f"its note has no `{name}`"
    for name, fits in {**_EVERY, **_NOTES.get(kind, {})}.items():
        if name in note and not fits(note[name]):
            return f"`{name}` in its note is of another type"
    return "its note is nested too deeply" if _is_deep(note) else None


def _text(value: Any) -> bool:
    """Return whether *value* is a text, or what stands for a long one."""
    return isinstance(value, str) or (
        isinstance(value, dict) and isinstance(value.get(MARK), str) and _whole(value.get("bytes"))
    )


def _text_or_none(value: Any) -> bool:
    return value is None or _text(value)


def _whole(value: Any) -> bool:
    return type(value) is int


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _names(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _answers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_texts, value.values()))


def _mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _place(value: Any) -> bool:
    return isinstance(value, dict) and _text(value.get("session")) and _whole(value.get("revision"))


def _is_deep(note: Mapping[str, Any]) -> bool:
    level: list[Any] = [note]
    for _ in range(MOST_DEEP):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [part for each in inner for part in each if isinstance(part, dict | list)]
        if not level:
            return False
    return True


_TOLD = ("id", "skill", "step", "source", "status", "started_at", "moved_at", "graph", "here")
_TOLD_OF_MOVES = ("step", "outcome", "reported", "to")
_Fits = Mapping[str, Callable[[Any], bool]]
_EVERY: _Fits = {"reason": _text, "finding": _text, "dispatches": _mappings}
_NOTES: Mapping[str, _Fits] = {
    "rewind": {"from": _whole, "to": _whole},
    "fork": {"from": _place, "into": _text, "at": _whole},
    "migrate": {"verdict": _text, "renamed": _names},
    "held": {"times": _whole},
    "claim": {"dispatch": _text, "holder": _text_or_none, "child": _text_or_none},
    "finish": {"dispatch": _text, "outcome": _text_or_none, "child": _text_or_none},
    "cancel": {"dispatch": _text},
    "ask": {"questions": _texts},
    "answer": {"answers": _answers},
}
_NEEDED: Mapping[str, tuple[str, ...]] = {"rewind": ("from", "to"), "migrate": ("verdict", "renamed")}
