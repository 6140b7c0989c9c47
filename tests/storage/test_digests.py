"""Digests are those of the standard library."""

from __future__ import annotations

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from flowrail.storage.files import hmac_sha256, sha256_hex


@given(st.binary(max_size=300))
def test_sha256_is_that_of_hashlib(data: bytes) -> None:
    assert sha256_hex(data) == hashlib.sha256(data).hexdigest()


@given(st.binary(max_size=64), st.binary(max_size=300))
def test_the_hmac_is_that_of_the_standard_library(key: bytes, message: bytes) -> None:
    assert hmac_sha256(key, message) == hmac.new(key, message, "sha256").hexdigest()
