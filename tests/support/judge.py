"""What every answer must be, however hostile what was read: a refusal or an answer, whole and visible."""

from __future__ import annotations

import json
import signal
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from xml.etree import ElementTree as ET

from support.sandbox import Ran, flow

STATUSES = range(8)
LONGEST_LINE = 20_000
"""More than any answer of ours has in a line; JSON has long ones where a document of ours is long."""
_SHOWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_EMOJI = frozenset("\ufe0e\ufe0f")
_IGNORED = [
    (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164),
    (0xFE00, 0xFE0D), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF),
]  # fmt: skip


def is_hidden(character: str) -> bool:
    """Return whether *character* shows as nothing, as something else, or does something to a terminal."""
    if character in _SHOWN or character in _EMOJI or character in "\n\t":
        return False
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return True
    return any(first <= ord(character) <= last for first, last in _IGNORED)


def hidden_in(text: str) -> list[str]:
    """Return what in *text* does not show itself."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return []
    return sorted({f"U+{ord(each):04X}" for each in text if is_hidden(each)})


def judged(*words: str, stdin: bytes = b"", statuses: Sequence[int] = STATUSES) -> Ran:
    """Run a command and return what it came to, which is an answer or a refusal, and nothing else."""
    with in_time(" ".join(words)):
        ran = flow(*words, stdin=stdin)
    assert ran.status in statuses, (words, ran.status, ran.err[:500])
    assert "Traceback" not in ran.out + ran.err, words
    assert hidden_in(ran.err) == [], (words, ran.err[:500])
    assert max(map(len, ran.err.splitlines()), default=0) <= LONGEST_LINE, words
    if "--json" in words:
        json.loads(ran.out)
    elif "xml" in words and ran.out:
        ET.fromstring(ran.out)  # noqa: S314 - well-formed by our own word, which is what is tried
    assert hidden_in(ran.out) == [], (words, hidden_in(ran.out))
    if ran.status and "--json" in words:
        _is_a_refusal(ran)
    return ran


def _is_a_refusal(ran: Ran) -> None:
    error = ran.data.get("error")
    if error is None:
        return  # findings, told and counted
    assert {"code", "message", "hint", "details"} <= error.keys()
    assert error["code"].isupper()
    assert error["message"]
    assert error["hint"]


@contextmanager
def in_time(what: str, seconds: int = 30) -> Iterator[None]:
    """Turn what hangs into a failure; far above what anything takes."""

    def ring(_number: int, _frame: object) -> None:
        raise AssertionError(f"hangs: {what}")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
