"""SHA-256 without OpenSSL, whose library takes 2 ms to load: a command makes few and small digests.

The standard library's `random` avoids `hashlib` in the same way.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.implementation.name != "cpython":
    from hashlib import sha256
elif sys.version_info >= (3, 12):
    from _sha2 import sha256
else:
    from _sha256 import sha256

__all__ = ["hmac_sha256", "sha256"]

_BLOCK = 64


def hmac_sha256(key: bytes, message: bytes) -> str:
    """Return the HMAC (RFC 2104) of *message* with a *key* of at most 64 bytes."""
    block = key.ljust(_BLOCK, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    return sha256(bytes(byte ^ 0x5C for byte in block) + inner).hexdigest()
