"""Sign statements and check signatures: DSSE envelopes with Ed25519. Needs the extra `flowrail[attest]`."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from flowrail.errors import FlowError, UsageError

PAYLOAD_TYPE = "application/vnd.in-toto+json"


class AttestationInvalidError(FlowError):
    """An attestation was changed, or was not signed with this key."""

    code = "ATTESTATION_INVALID"


class KeyUnusableError(UsageError):
    """A file does not contain a key that can be used."""

    code = "KEY_UNUSABLE"


def private_key(pem: bytes, path: str) -> Ed25519PrivateKey:
    """Return the private key in *pem*."""
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusableError(
            f"{path} contains no Ed25519 private key without a password",
            hint=f"make one: openssl genpkey -algorithm ed25519 -out {path}",
        )
    return key


def public_key(pem: bytes, path: str) -> Ed25519PublicKey:
    """Return the public key in *pem*."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise KeyUnusableError(
            f"{path} contains no Ed25519 public key",
            hint=f"write it from the private key: openssl pkey -in KEY -pubout -out {path}",
        )
    return key


def key_id(key: Ed25519PublicKey) -> str:
    """Return the id of a key: the SHA-256 of its DER encoding."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def signed(statement: dict[str, object], key: Ed25519PrivateKey) -> dict[str, object]:
    """Return the envelope of a statement."""
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    signature = key.sign(_encoded(payload))
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [
            {"keyid": key_id(key.public_key()), "sig": base64.b64encode(signature).decode()},
        ],
    }


def verified(envelope: object, key: Ed25519PublicKey) -> dict[str, Any]:
    """Return the statement in an envelope that was signed with *key*; `AttestationInvalidError` otherwise."""
    try:
        payload, signatures = _parts(envelope)
    except (KeyError, TypeError, ValueError):
        raise AttestationInvalidError("it is not a DSSE envelope", hint="sign it with --key") from None
    for signature in signatures:
        try:
            key.verify(signature, _encoded(payload))
        except InvalidSignature:
            continue
        statement: dict[str, object] = json.loads(payload)
        return statement
    raise AttestationInvalidError(
        "none of its signatures matches this key", hint="get the attestation and the key again"
    )


def _parts(envelope: object) -> tuple[bytes, list[bytes]]:
    if not isinstance(envelope, dict) or envelope["payloadType"] != PAYLOAD_TYPE:
        raise TypeError
    signatures = [base64.b64decode(signature["sig"], validate=True) for signature in envelope["signatures"]]
    return base64.b64decode(envelope["payload"], validate=True), signatures


def _encoded(payload: bytes) -> bytes:
    """Return the bytes that are signed: the pre-authentication encoding of DSSE."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
