"""SHA-256 and marks made with it, from the interpreter's own code where that will do.

`hashlib` and `hmac` load OpenSSL, which costs a process more than all it hashes in a step. What is
long goes to `hashlib` all the same, and so does everything in a process that hashes often: there OpenSSL
is several times as fast.
"""

from __future__ import annotations

from _operator import _compare_digest as same  # what `hmac.compare_digest` is
from importlib import import_module
from typing import Any

LONG, OFTEN = 262_144, 400
__all__ = ["digest", "hex_digest", "mark", "same"]

_BLOCK = 64
_INNER, _OUTER = (bytes(each ^ pad for each in range(256)) for pad in (0x36, 0x5C))


def constructor(modules: tuple[str, ...] = ("_sha2", "_sha256")) -> Any:
    """Return the interpreter's own: of `_sha2` from Python 3.12 on, `_sha256` in 3.11, else `hashlib`."""
    for name in modules:
        try:
            return import_module(name).sha256
        except (ImportError, AttributeError):
            continue
    return import_module("hashlib").sha256


_sha256 = constructor()
_rare = iter(range(OFTEN))


def digest(data: bytes) -> bytes:
    """Return the SHA-256 of *data*."""
    short = len(data) < LONG and next(_rare, None) is not None
    make = _sha256 if short else import_module("hashlib").sha256
    return bytes(make(data).digest())


def hex_digest(data: bytes) -> str:
    """Return the SHA-256 of *data* in hexadecimal digits."""
    return digest(data).hex()


def mark(key: bytes, data: bytes) -> str:
    """Return the HMAC-SHA-256 of *data* under *key* in hexadecimal digits (RFC 2104)."""
    block = (digest(key) if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    return hex_digest(block.translate(_OUTER) + digest(block.translate(_INNER) + data))
