"""Long texts are in files beside the journal. They are read as they were written; a changed file is refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.machines.sessions.record import (
    MARK,
    LoadText,
    TextDamagedError,
    check_size,
    join_texts,
    split_texts,
    text_loader,
)
from flowrail.storage.file_store import FolderFiles
from flowrail.storage.journal import TooLargeError
from flowrail.text import limits

LONG = "é" * limits.INLINE_TEXT_BYTES
TEXTS = st.one_of(
    st.text(max_size=10),
    st.sampled_from(
        [LONG, "x" * limits.INLINE_TEXT_BYTES, "x" * (limits.INLINE_TEXT_BYTES + 1), "\ud800" * 9_999]
    ),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", MARK, "value", "bytes"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def from_memory(texts: dict[str, bytes]) -> LoadText:
    def load(name: str, size: int) -> str:
        assert len(texts[name]) == size
        return texts[name].decode("utf-8", "surrogatepass")

    return load


@given(VALUES)
def test_split_texts_are_joined_again(value: Any) -> None:
    texts: dict[str, bytes] = {}

    plain = split_texts(value, texts)

    assert join_texts(plain, from_memory(texts)) == value


def test_a_mapping_that_looks_like_a_reference_is_none() -> None:
    texts: dict[str, bytes] = {}
    mine = {MARK: "texts/mine.txt", "bytes": 3}

    plain = split_texts(mine, texts)

    assert plain == {MARK: None, "value": mine}
    assert join_texts(plain, from_memory(texts)) == mine
    assert texts == {}


def stored(folder: Path) -> tuple[str, int]:
    """Write one text into *folder* and return the name of its file, and its size."""
    texts: dict[str, bytes] = {}
    reference = split_texts(LONG, texts)
    for name, data in texts.items():
        FolderFiles(str(folder)).write(name, data)
    return reference[MARK], reference["bytes"]


def loaded(folder: Path, name: str, size: int) -> str:
    return text_loader(FolderFiles(str(folder)))(name, size)


def test_a_text_is_for_its_user_only_and_read_again(tmp_path: Path) -> None:
    name, size = stored(tmp_path)

    assert loaded(tmp_path, name, size) == LONG
    assert (tmp_path / name).read_text() == LONG
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "texts").stat().st_mode) == 0o700


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
def test_a_text_that_is_not_as_it_was_written_is_refused(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    name, size = stored(tmp_path)
    spoil(tmp_path / name)

    with pytest.raises(TextDamagedError) as caught:
        loaded(tmp_path, name, size)

    assert (caught.value.code, caught.value.exit_status) == ("TEXT_DAMAGED", 3)
    assert name in caught.value.problem


@pytest.mark.parametrize(
    "value",
    [
        {MARK: None},
        {MARK: None, "value": []},
        {MARK: None, "value": {}, "more": 1},
        {MARK: 7, "bytes": 3},
        {MARK: "texts/x.txt"},
        {MARK: "texts/x.txt", "bytes": "3"},
        {MARK: "texts/x.txt", "bytes": True},
        {MARK: "texts/x.txt", "bytes": 3, "more": 1},
    ],
)
def test_a_reference_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="has the wrong form"):
        join_texts([value], lambda name, size: name * size)


def test_there_is_a_limit_for_all_texts_of_a_record_together() -> None:
    half = b"x" * (limits.LONG_TEXTS_BYTES // 2 + 1)

    with pytest.raises(TooLargeError, match="at most"):
        check_size({"texts/a.txt": half, "texts/b.txt": half})
