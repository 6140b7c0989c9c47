"""A journal line holds the hash of the line before it, and of all its own text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flowrail.machines.sessions import limits
from flowrail.machines.sessions.limits import TooLargeError
from flowrail.machines.sessions.session import Move, Session
from flowrail.storage import journal
from flowrail.storage.journal import DamagedError, Record, Tail

KEY = b"k" * 32
SESSION = Session(
    "a-abcdef",
    "a",
    "second",
    revision=1,
    params={"topic": "x"},
    visits={"first": 1, "second": 1},
    last=Move("first", "ok", "ok", "second", {"sure": "low"}, ("passed",), at="then"),
)
RECORD = Record(1, "move", "now", "me", SESSION, {"why": ["so"]}, "0" * 64, "")

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@contextmanager
def opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.text(max_size=20))
@example({}, "$file")
def test_what_was_written_is_read(state: dict[str, object], by: str) -> None:
    record = RECORD._replace(session=SESSION._replace(state=state), by=by, note=state)

    line, written, *_ = journal.write(record, KEY)

    for given_back in (line, line.removesuffix(b"\n")):
        read = journal.read(given_back, "journal", 1)
        assert (
            read._replace(apart=False) == written
        )  # a name that is our mark costs a look for texts, no more
    assert journal.signed_by(line, KEY, journal.EACH)
    assert line.count(b"\n") == 1
    assert line.isascii()


def test_brackets_in_texts_are_no_lists() -> None:
    record = RECORD._replace(note={"a": ["[{" * 5_000] * 8})

    assert journal.read(journal.write(record).line, "journal", 1).note == record.note


def test_the_hash_stands_last_and_is_that_of_all_text_before_it() -> None:
    line, written, *_ = journal.write(RECORD)

    before, _, after = line.rpartition(b',"hash":"')
    assert after == written.hash.encode() + b'"}\n'
    assert sha256(before).hexdigest() == written.hash
    assert list(json.loads(line))[-1] == "hash"


def test_every_bit_of_a_line_counts() -> None:
    line = journal.write(RECORD).line

    for bit in range(8 * (len(line) - 1)):
        flipped = bytearray(line)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedError, match=r"^journal:7: "):
            journal.read(bytes(flipped), "journal", 7)


@pytest.mark.parametrize("line", [b"", b"\n", b"{}\n", b"x" * 200, b'{"hash":"' + b"0" * 64 + b'"}\n'])
def test_what_is_no_line_at_all_is_refused(line: bytes) -> None:
    with pytest.raises(DamagedError) as caught:
        journal.read(line, "journal", 1)

    assert (caught.value.code, caught.value.exit_status) == ("JOURNAL_DAMAGED", 3)


def hashed(body: object) -> bytes:
    """Return a line with the right hash, whatever it says."""
    text = json.dumps(body, separators=(",", ":")).encode()[:-1]
    return text + b',"hash":"' + sha256(text).hexdigest().encode() + b'"}\n'


def test_a_record_of_another_form_is_refused_with_the_place_in_it() -> None:
    body = json.loads(journal.write(RECORD).line)
    del body["hash"]
    body["session"]["last"]["colour"] = "red"

    with pytest.raises(
        DamagedError, match=r"^journal:3: the record is of another form: .*unknown colour @ \$\.last"
    ):
        journal.read(hashed(body), "journal", 3)


def test_a_record_without_its_parts_is_refused() -> None:
    with pytest.raises(DamagedError, match=r"cannot be read \(KeyError: "):
        journal.read(hashed({"seq": 1}), "journal", 1)


@pytest.mark.parametrize("part", ["seq", "kind", "at", "by", "note", "prev", "session", "colour"])
def test_a_part_of_the_wrong_type_is_refused(part: str) -> None:
    body = json.loads(journal.write(RECORD).line)
    del body["hash"]
    body[part] = True if part == "seq" else 7

    with pytest.raises(DamagedError):
        journal.read(hashed(body), "journal", 1)


def test_only_the_key_that_signed_is_recognised() -> None:
    line, record, *_ = journal.write(RECORD, KEY)
    other = journal.write(RECORD).line

    assert record.mac
    assert journal.signed_by(line, KEY, journal.EACH)
    assert not journal.signed_by(line, b"l" * 32, journal.EACH)
    for each in (other, b"nonsense", hashed([1]), journal.write(RECORD, b"").line):
        assert not journal.signed_by(each, KEY, journal.EACH)
    assert not journal.signed_by(journal.write(RECORD, b"").line, b"", journal.EACH)


def test_the_mark_of_a_line_tells_whether_every_line_has_one() -> None:
    line = journal.write(RECORD, KEY).line

    assert not journal.signed_by(line, KEY)


def test_a_mark_is_that_of_its_own_text_only() -> None:
    line = journal.write(RECORD, KEY).line
    body = json.loads(line)
    del body["hash"]
    body["by"] = "somebody else"

    assert not journal.signed_by(hashed(body), KEY, journal.EACH)


def test_a_line_that_would_be_too_long_is_not_written() -> None:
    with pytest.raises(TooLargeError) as caught:
        journal.write(RECORD._replace(note={str(number): "x" * 9_999 for number in range(120)}))

    assert caught.value.exit_status == 3
    assert caught.value.details["bytes"] > limits.LARGEST_LINE  # type: ignore[operator]


LINES = st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=6)


@given(LINES, st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), st.integers(1, 40))
def test_the_tail_is_the_last_whole_line(
    tmp_path_factory: pytest.TempPathFactory, whole: list[bytes], torn: bytes, chunk: int
) -> None:
    content = b"".join(line + b"\n" for line in whole) + torn
    expected = (
        Tail(whole[-1] + b"\n", len(content) - len(torn), len(torn)) if whole else Tail(b"", 0, len(torn))
    )

    with pytest.MonkeyPatch.context() as patch, opened(tmp_path_factory.mktemp("j") / "j", content) as fd:
        patch.setattr(journal, "_CHUNK", chunk)
        assert journal.tail(fd, "journal") == expected
        assert list(journal.lines(fd, "journal")) == [line + b"\n" for line in whole]
        assert journal.count_lines(fd) == max(1, len(whole))
        if whole:
            assert journal.first_line(fd, "journal") == whole[0] + b"\n"
        else:
            with pytest.raises(DamagedError, match="the first line is not whole"):
                journal.first_line(fd, "journal")


def test_reading_the_tail_does_not_read_what_is_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        read.append(size)
        return real(fd, size, at)

    monkeypatch.setattr(os, "pread", pread)

    with opened(tmp_path / "j", b"x" * 999 + b"\n" + b"y" * 999 + b"\n" + 5_000 * (b"z" * 999 + b"\n")) as fd:
        assert journal.tail(fd, "j").line == b"z" * 999 + b"\n"
        assert journal.first_line(fd, "j") == b"x" * 999 + b"\n"

    assert sum(read) <= 2 * 65_536


def test_lines_longer_than_any_record_are_refused(tmp_path: Path) -> None:
    endless = b"x" * (2 * limits.LARGEST_LINE + 70_000)

    with (
        opened(tmp_path / "j", b"first\n" + endless + b"\n") as fd,
        pytest.raises(DamagedError, match="j:2: the last line"),
    ):
        journal.tail(fd, "j")
    with (
        opened(tmp_path / "j", endless + b"\n") as fd,
        pytest.raises(DamagedError, match="j:1: the first line"),
    ):
        journal.first_line(fd, "j")
    with (
        opened(tmp_path / "j", b"first\n" + endless) as fd,
        pytest.raises(DamagedError, match="j:2: the line has"),
    ):
        list(journal.lines(fd, "j"))


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_record_that_lost_only_the_end_of_its_line_is_damaged_and_not_torn(
    tmp_path: Path, before: int
) -> None:
    line = journal.write(Record(0, "start", "then", "me", SESSION, {}, "", "")).line
    whole = before * b"earlier\n"

    for end in [*(bytes([10 ^ 1 << bit]) for bit in range(8)), b"\x00torn", b'\x0b,"hash":"']:
        with opened(tmp_path / "j", whole + line[:-1] + end) as fd:
            for read in (journal.tail, lambda *words: list(journal.lines(*words))):
                with pytest.raises(DamagedError, match=f"j:{before + 1}: the end of the line is not as"):
                    read(fd, "j")
    for size in (len(line) - 1, len(line) - 2, journal.TAIL, 1):
        with opened(tmp_path / "j", whole + line[:size]) as fd:
            assert journal.tail(fd, "j").torn == size
            assert len(list(journal.lines(fd, "j"))) == before
