"""Our digests and marks are those of the standard library, whatever made them."""

from __future__ import annotations

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from flowrail.storage import hashing


@given(st.binary(max_size=300))
def test_a_digest_is_that_of_hashlib(data: bytes) -> None:
    assert hashing.digest(data) == hashlib.sha256(data).digest()
    assert hashing.hex_digest(data) == hashlib.sha256(data).hexdigest()


@given(st.binary(max_size=150), st.binary(max_size=300))
def test_a_mark_is_that_of_hmac(key: bytes, data: bytes) -> None:
    assert hashing.mark(key, data) == hmac.digest(key, data, "sha256").hex()


def test_what_is_long_is_digested_the_same() -> None:
    for size in (hashing.LONG - 1, hashing.LONG, hashing.LONG + 1):
        assert hashing.digest(b"x" * size) == hashlib.sha256(b"x" * size).digest()


def test_without_code_of_its_own_the_interpreter_uses_hashlib() -> None:
    assert hashing.constructor(("_sha2_of_no_interpreter",)) is hashlib.sha256


def test_who_hashes_often_gets_the_same_digests() -> None:
    for number in range(hashing.OFTEN + 2):
        data = b"%d" % number
        assert hashing.digest(data) == hashlib.sha256(data).digest()
