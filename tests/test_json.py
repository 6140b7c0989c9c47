"""What a JSON document would become is told before it is parsed."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping

import pytest
from hypothesis import given
from support.documents import PLAIN_DATA
from support.judge import in_time

from flowrail._json import nested


def held(value: object) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(held, value.values()))
    return 1 + sum(map(held, value)) if isinstance(value, list) else 0


@given(PLAIN_DATA)
def test_brackets_in_texts_are_no_lists(data: object) -> None:
    for ascii_only in (True, False):
        document = json.dumps(["[{", data, {"{]": '"['}], ensure_ascii=ascii_only).encode()

        assert nested(document, 0) == held(data) + 2


def test_few_brackets_are_counted_as_they_stand() -> None:
    assert nested(b'["[[["]', 4) == 4
    assert nested(b'["[[["]', 3) == 1


@pytest.mark.parametrize("end", ["", "\\", '"', '\\"', "]"])
@pytest.mark.parametrize("piece", ['\\"', '"', "\\", "a"])
def test_a_text_that_never_ends_is_read_once(piece: str, end: str) -> None:
    with in_time("brackets are counted"):
        assert nested(f'[[["{piece * 1_000_000}{end}'.encode(), 2) == 3


def test_counting_takes_less_memory_than_the_document() -> None:
    document = b'"[",' * 300_000

    tracemalloc.start()
    found = nested(document, 0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == 0
    assert nested(document, 0, b",") == 300_000
    assert most < len(document)
