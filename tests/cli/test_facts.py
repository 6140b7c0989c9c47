"""A file of facts: one object in strict JSON."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from flowrail.cli.given_files import read_facts
from flowrail.errors import DocumentError
from flowrail.text import size_limits


def write(content: bytes) -> str:
    Path("facts.json").write_bytes(content)
    return "facts.json"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n[1]", r"^facts\.json: does not contain a JSON object"),
        (b'{"a": 1,\n"a": 2}', r"^facts\.json: the document has the key `a` twice in one object"),
        (b'{"a": "' + b"x" * size_limits.JSON_BYTES + b'"}', "has more than 4194304 bytes"),
    ],
)
def test_anything_else_is_refused_with_the_place(content: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        read_facts(write(content))

    assert caught.value.exit_status == 2
    assert str(caught.value.hint)


def test_a_file_may_be_a_link_and_must_be_there() -> None:
    write(b'{"a": 1}')
    Path("link.json").symlink_to("facts.json")

    assert read_facts("link.json") == {"a": 1}
    with pytest.raises(DocumentError, match="does not exist"):
        read_facts("nosuch.json")


def test_a_pipe_is_not_waited_for() -> None:
    os.mkfifo("pipe")

    with pytest.raises(DocumentError, match="is a pipe"):
        read_facts("pipe")


def test_standard_input_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def give(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    give(b'{"a": 1}')
    assert read_facts("-") == {"a": 1}
    give(b"[")
    with pytest.raises(DocumentError, match=r"^standard input:1: "):
        read_facts("-")
    give(b" " * (size_limits.JSON_BYTES + 1))
    with pytest.raises(DocumentError, match="standard input: has more than"):
        read_facts("-")
