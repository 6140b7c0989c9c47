"""A journal returns the records that were written and notices every change to them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.errors import UsageError
from flowrail.storage import hash_chain, journal
from flowrail.storage.files import WriteFailedError
from flowrail.storage.journal import DamagedError, Journal
from flowrail.storage.record_store import Kind


@dataclass(frozen=True)
class Note:
    """The smallest record that a journal can hold."""

    seq: int
    text: str
    prev: str
    hash: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    owner: str = "x"


def _error(key: str, *_: object) -> UsageError:
    return UsageError(key, hint="")


KIND: Kind[Note] = Kind(
    "note", Note, re.compile("x"), ("owner",), _error, _error, lambda notes, *_: notes[-1]
)


@contextmanager
def opened(folder: Path, mode: int = journal.READ) -> Iterator[Journal]:
    with journal.opened(str(folder / "journal.jsonl"), mode) as made:
        yield made


def written(folder: Path, *texts: str) -> bytes:
    """Write a journal with one record per text and return its bytes."""
    before = ""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "journal.jsonl").unlink(missing_ok=True)
    with opened(folder, journal.CREATE) as made:
        for seq, text in enumerate(texts):
            line, note = KIND.encode(Note(seq, text, before))
            made.append(line)
            before = note.hash
    return (folder / "journal.jsonl").read_bytes()


def texts_of(folder: Path) -> list[str]:
    with opened(folder) as made:
        return [
            note.text for note in hash_chain.forwards(made.lines(), KIND.decoder("x", made.path), made.path)
        ]


def newest(made: Journal) -> Note:
    return KIND.decode(journal.parse(made.last_line(), made.path, 0), "x", made.path, 0)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_written_records_are_read_in_both_directions(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("journal")

    data = written(folder, *texts)

    with opened(folder) as made:
        last = newest(made)
        assert (last.seq, last.text, made.torn) == (len(texts) - 1, texts[-1], 0)
        older = made.lines_backwards()
        assert next(older) == made.last_line()
        back = hash_chain.backwards(last, older, KIND.decoder("x", made.path), made.path)
        assert [note.text for note in back] == texts[::-1]
    assert texts_of(folder) == texts
    assert data.count(b"\n") == len(texts)
    assert data.isascii()


def test_any_flipped_bit_of_a_journal_is_noticed(tmp_path: Path) -> None:
    whole = written(tmp_path, "a", "b")

    for bit in range(8 * (len(whole) - 1)):  # without its last line feed, the last line is incomplete
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / "journal.jsonl").write_bytes(flipped)
        with pytest.raises(DamagedError):
            texts_of(tmp_path)


@pytest.mark.parametrize(
    ("order", "line"),
    [([1, 2], 1), ([0, 2], 2), ([0, 2, 1], 2), ([0, 1, 1], 3), ([0, 0, 1], 2), ([1, 0, 2], 1)],
)
def test_lines_that_are_missing_or_moved_are_noticed(tmp_path: Path, order: list[int], line: int) -> None:
    lines = written(tmp_path, "a", "b", "c").splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[number] for number in order))

    with pytest.raises(DamagedError, match=rf"journal\.jsonl:{line}: the record does not follow"):
        texts_of(tmp_path)


def test_an_incomplete_line_does_not_count_and_the_next_record_replaces_it(tmp_path: Path) -> None:
    whole = written(tmp_path, "a", "b")
    first = whole.splitlines(keepends=True)[0]

    for cut in range(len(first) + 1, len(whole) - 1):
        (tmp_path / "journal.jsonl").write_bytes(whole[:cut])
        with opened(tmp_path, journal.CHANGE) as made:
            last = newest(made)
            assert (last.text, made.torn) == ("a", cut - len(first))
            made.append(KIND.encode(Note(1, "c", last.hash))[0])
        assert texts_of(tmp_path) == ["a", "c"]


def test_a_line_without_a_flush_is_not_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = written(tmp_path, "a")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with opened(tmp_path, journal.CHANGE) as made, monkeypatch.context() as patch:
        made.last_line()
        patch.setattr(os, "fsync", fail)
        with pytest.raises(WriteFailedError):
            made.append(b"{}\n")

    assert (tmp_path / "journal.jsonl").read_bytes() == whole


def removed(path: Path) -> None:
    path.unlink()


def moved_away(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def replaced(path: Path) -> None:
    path.unlink()
    path.write_text("")


@pytest.mark.parametrize("vanish", [removed, moved_away, replaced])
def test_a_journal_that_vanished_before_the_flush_is_not_acknowledged(tmp_path: Path, vanish: Any) -> None:
    folder = tmp_path / "here"
    written(folder, "a")

    with opened(folder, journal.CHANGE) as made:
        made.last_line()
        vanish(folder / "journal.jsonl")
        with pytest.raises(WriteFailedError):
            made.append(b"{}\n")


def sealed(body: object) -> bytes:
    text = json.dumps(body, separators=(",", ":")).encode()[:-1]
    return text + b',"hash":"' + sha256(text).hexdigest().encode() + b'"}\n'


@pytest.mark.parametrize(
    "body",
    [
        [1],
        {"a": 1},
        {"seq": "0", "text": "a", "prev": ""},
        {"seq": 0, "text": 1, "prev": ""},
        {"seq": 0, "text": "a", "prev": "", "colour": "red"},
    ],
)
def test_a_record_of_another_form_is_refused_with_its_line(tmp_path: Path, body: object) -> None:
    (tmp_path / "journal.jsonl").write_bytes(sealed(body))

    with pytest.raises(DamagedError, match=r"journal\.jsonl:1: ") as caught:
        texts_of(tmp_path)

    assert (caught.value.code, caught.value.exit_status) == ("JOURNAL_DAMAGED", 3)
