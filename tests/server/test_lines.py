"""What a host writes is looked at before it is parsed: larger than any call of ours, it is refused, and the next is read."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from importlib.util import find_spec

import pytest
from support.sandbox import ENTRY, SMALL, clean_environment, put_skill

from flowrail.mcp.lines import (
    LONGEST,
    Refused,
    next_line,
)


def request(arguments: str, *, before: str = '"jsonrpc":"2.0","id":7,', after: str = "") -> bytes:
    """Return a call as a line."""
    params = f'"params":{{"name":"status","arguments":{arguments}}}'
    return f'{{{before}"method":"tools/call",{params}{after}}}\n'.encode()


def read(*lines: bytes) -> tuple[list[str], list[Refused]]:
    """Return the lines that are handed on, and those that are not."""
    file = io.BytesIO(b"".join(lines))
    every = list(iter(lambda: next_line(file), ""))
    return [each for each in every if isinstance(each, str)], [
        each for each in every if isinstance(each, Refused)
    ]


TOO_MUCH = {
    "bytes": f'{{"a":"{"x" * LONGEST}"}}',
    "levels": f'{{"a":{"[" * 500}{"]" * 500}}}',
    "levels of mappings": '{"[":' * 500 + "1" + "}" * 500,
    "digits": f'{{"a":{"9" * 5_000}}}',
}


@pytest.mark.parametrize("what", TOO_MUCH)
@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ('"jsonrpc":"2.0","id":7,', "", 7),
        ('"id":"a-7",', ',"jsonrpc":"2.0"', "a-7"),
        ("", ',"jsonrpc":"2.0","id":7', 7),
        ('"jsonrpc":"2.0",', "", None),
    ],
)
def test_what_is_too_large_is_answered_by_its_id_and_the_next_is_read(
    what: str, before: str, after: str, known: object
) -> None:
    line, fine = request(TOO_MUCH[what], before=before, after=after), request("{}")

    handed_on, refused = read(fine, line, fine, line)

    assert handed_on == [fine.decode()] * 2
    assert [each.id for each in refused] == [known] * 2
    assert refused[0].error.code == "TOO_LARGE"


def test_large_honest_calls_are_handed_on() -> None:
    texts = json.dumps({"facts": {"a": "é[]{}, " * 140_000}})
    numbers = json.dumps({"facts": {"a": list(range(100_000))}})
    digits = json.dumps({"facts": {"a": "9" * 5_000, "b": '[\\"' * 500, "c": [[], {}] * 500}})
    deep = '{"facts": {"a": ' + "[" * 32 + "]" * 32 + "}}"

    for arguments in (texts, numbers, digits, deep):
        assert read(request(arguments)) == ([request(arguments).decode()], [])


NO_REQUESTS = {
    "no JSON": (b"{", None),
    "a list": (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None),
    "another version": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7),
    "no version": (b'{"id":"a","method":"ping"}', "a"),
    "no method": (b'{"jsonrpc":"2.0","id":7}', 7),
    "an odd method": (b'{"jsonrpc":"2.0","id":7,"method":[]}', 7),
    "odd parameters": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 7),
    "an odd id": (b'{"jsonrpc":"2.0","id":[7],"method":"ping"}', None),
    "a truth as id": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
    "a text": (b'"ping"', None),
}


@pytest.mark.parametrize("what", NO_REQUESTS)
def test_what_is_no_request_is_answered_by_its_id(what: str) -> None:
    line, known = NO_REQUESTS[what]
    fine = request("{}")

    handed_on, (refused,) = read(fine, line + b"\n", fine)

    assert handed_on == [fine.decode()] * 2
    assert refused.id == known
    assert refused.is_json == (what != "no JSON")


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":7,"method":"ping","params":null}',
        b'{"jsonrpc":"2.0","id":7,"result":{}}',
        b'{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no"}}',
        b" ",
    ],
)
def test_what_the_sdk_takes_is_handed_on(line: bytes) -> None:
    assert read(line + b"\n") == ([line.decode() + "\n"], [])


def test_a_line_that_never_ends_is_answered_once() -> None:
    handed_on, refused = read(b'{"id":1,' + b"x" * 3 * LONGEST)

    assert (handed_on, [each.id for each in refused]) == ([], [1])


@pytest.mark.skipif(find_spec("mcp") is None, reason="the extra `mcp` is not installed")
def test_the_server_answers_what_is_too_large_and_lives_on() -> None:
    put_skill("small", SMALL)
    began = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    wrong = [line + b"\n" for line, known in NO_REQUESTS.values() if known == 7]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": began}).encode() + b"\n",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        *(request(each) for each in TOO_MUCH.values()),
        *wrong,
        request("{}", before='"jsonrpc":"2.0","id":8,'),
    ]

    with subprocess.Popen(
        [sys.executable, "-c", ENTRY, "mcp"],
        env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as ran:  # fmt: skip
        assert ran.stdin is not None
        assert ran.stdout is not None
        answers = []
        for line in lines:
            ran.stdin.write(line)
            ran.stdin.flush()
            if b'"id"' in line:
                answers.append(json.loads(ran.stdout.readline()))

    assert [each["id"] for each in answers] == [1, *[7] * (len(TOO_MUCH) + len(wrong)), 8]
    assert [each["error"]["code"] for each in answers[1:-1]] == [-32600] * (len(TOO_MUCH) + len(wrong))
    assert answers[1]["error"]["data"]["error"]["code"] == "TOO_LARGE"
    assert "result" in answers[-1]
