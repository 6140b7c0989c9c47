"""Long texts lie in files beside the journal: what is read is what was written, and nothing else passes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.machines.sessions import attachments, limits
from flowrail.machines.sessions.attachments import MARK, TextDamagedError
from flowrail.machines.sessions.limits import TooLargeError

LONG = "é" * limits.LONGEST_INLINE
TEXTS = st.one_of(
    st.text(max_size=10),
    st.sampled_from([LONG, "x" * limits.LONGEST_INLINE, "x" * (limits.LONGEST_INLINE + 1), "\ud800" * 9_999]),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", MARK, "value", "bytes"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def from_memory(beside: dict[str, bytes]) -> attachments.Load:
    def load(name: str, size: int) -> str:
        assert len(beside[name]) == size
        return beside[name].decode("utf-8", "surrogatepass")

    return load


@given(VALUES)
def test_what_is_parted_is_joined_again(value: Any) -> None:
    beside: dict[str, bytes] = {}

    plain = attachments.parted(value, beside)

    assert attachments.joined(plain, from_memory(beside)) == value
    assert sorted({name for name, _ in attachments.names_in(plain)}) == sorted(beside)


def test_a_text_stays_where_it_is_up_to_the_bound() -> None:
    beside: dict[str, bytes] = {}
    just, over = "x" * limits.LONGEST_INLINE, "x" * (limits.LONGEST_INLINE + 1)

    plain = attachments.parted({"just": just, "over": [over], "wide": "é" * 9_000}, beside)

    assert plain["just"] == just
    assert plain["over"][0][MARK].startswith("texts/")
    assert plain["over"][0]["bytes"] == len(over)
    assert plain["wide"]["bytes"] == 18_000
    assert len(beside) == 2


def test_a_mapping_that_looks_like_a_reference_is_none() -> None:
    beside: dict[str, bytes] = {}
    mine = {MARK: "texts/mine.txt", "bytes": 3}

    plain = attachments.parted(mine, beside)

    assert plain == {MARK: None, "value": mine}
    assert attachments.joined(plain, from_memory(beside)) == mine
    assert list(attachments.names_in(plain)) == []


def kept(folder: Path, text: str = LONG) -> tuple[str, int]:
    """Keep one text in *folder* and return the name of its file, and its size."""
    beside: dict[str, bytes] = {}
    reference = attachments.parted(text, beside)
    attachments.keep(str(folder), beside)
    return reference[MARK], reference["bytes"]


def test_a_text_is_kept_for_its_user_only_and_read_again(tmp_path: Path) -> None:
    name, size = kept(tmp_path)

    assert attachments.loader(str(tmp_path))(name, size) == LONG
    assert (tmp_path / name).read_text() == LONG
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "texts").stat().st_mode) == 0o700


def test_a_text_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    name, _ = kept(tmp_path)
    before = (tmp_path / name).stat().st_ino

    assert attachments.keep(str(tmp_path), {name: LONG.encode()}) == []

    assert (tmp_path / name).stat().st_ino == before


def test_a_text_that_was_cut_short_is_written_again_and_not_taken_back(tmp_path: Path) -> None:
    name, size = kept(tmp_path)
    os.truncate(tmp_path / name, 3)

    assert attachments.keep(str(tmp_path), {name: LONG.encode()}) == []

    assert attachments.loader(str(tmp_path))(name, size) == LONG


def shortened(path: Path) -> None:
    os.truncate(path, 3)


def changed(path: Path) -> None:
    path.write_bytes(b"\0" + path.read_bytes()[1:])


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("spoil", [shortened, changed, linked, piped, Path.unlink])
def test_a_text_that_is_not_as_it_was_written_is_refused_with_its_place(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    name, size = kept(tmp_path)
    spoil(tmp_path / name)

    with pytest.raises(TextDamagedError) as caught:
        attachments.loader(str(tmp_path))(name, size)

    assert (caught.value.code, caught.value.exit_status) == ("TEXT_DAMAGED", 3)
    assert caught.value.message.startswith(f"{tmp_path / name}: ")
    assert caught.value.details["place"] == str(tmp_path / name)


@pytest.mark.parametrize("name", ["../key", "/etc/passwd", "texts/../key", "texts/x.txt", "", "key"])
def test_nothing_but_a_text_of_ours_becomes_a_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "key").write_text("secret")

    with pytest.raises(TextDamagedError, match="is no text of a session"):
        attachments.loader(str(tmp_path))(name, 6)


def test_there_is_a_bound_for_all_texts_together(tmp_path: Path) -> None:
    half = b"x" * (limits.LARGEST_TEXTS // 2 + 1)

    with pytest.raises(TooLargeError, match="are the most"):
        attachments.keep(str(tmp_path), {"texts/a.txt": half, "texts/b.txt": half})

    assert os.listdir(tmp_path) == []


def test_texts_of_a_record_that_is_not_written_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.replace, iter(range(9))

    def replace(one: str, other: str) -> None:
        if next(calls):
            raise OSError(28, "No space left on device")
        real(one, other)

    monkeypatch.setattr(os, "replace", replace)

    with pytest.raises(Exception, match="could not be written"):
        attachments.keep(str(tmp_path), {"texts/a.txt": b"a", "texts/b.txt": b"b"})

    assert os.listdir(tmp_path / "texts") == []
