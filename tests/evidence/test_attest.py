"""`flow attest`: in-toto statements about a session, and envelopes that another implementation accepts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer._key import SSlibKey
from support.evidence import begin, demand, report, write
from support.sandbox import flow, refused, told

from flowrail.evidence.envelope import key_id


def finished_session() -> str:
    demand({"id": "plan", "file": "plan.md", "contains": ["## Risks"]}, {"id": "parts", "files": "*.md"})
    session = begin()
    write("plan.md", "## Risks\n")
    assert report(session) == {}
    told("step", "built", "ok", "--session", session)
    return session


def keys() -> Ed25519PrivateKey:
    """Write a pair of keys, as `openssl` does, and return the private one."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    Path("private.pem").write_bytes(private)
    Path("public.pem").write_bytes(public)
    return key


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_there_is_a_statement_for_each_step_with_what_was_checked() -> None:
    session = finished_session()

    tested, linked = lines(flow("attest", session).out)
    records = told("history", session)["steps"]

    assert tested["_type"] == linked["_type"] == "https://in-toto.io/Statement/v1"
    assert tested["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert tested["subject"][0] == {
        "name": f"{session}/records/1",
        "digest": {"sha256": records[1]["hash"]},
    }
    assert tested["subject"][1]["name"] == "plan.md"
    predicate = tested["predicate"]
    assert (predicate["result"], predicate["passedTests"]) == ("PASSED", ["plan", "parts"])
    assert (predicate["step"], predicate["outcome"]) == ("build", "ok")
    assert predicate["checks"][0]["level"] == "checked"
    assert linked["predicateType"] == "https://in-toto.io/attestation/link/v0.3"
    assert (linked["predicate"]["name"], linked["predicate"]["byproducts"]["outcome"]) == ("tell", "ok")


def test_a_signed_attestation_is_verified_and_a_changed_one_is_not() -> None:
    session = finished_session()
    keys()
    flow("attest", session, "--key", "private.pem", "--output", "a.jsonl")

    verified = flow("attest", "--verify", "a.jsonl", "--key", "public.pem")
    changed = lines(Path("a.jsonl").read_text())
    payload = base64.b64decode(changed[0]["payload"]).replace(b'"ok"', b'"no"')
    changed[0]["payload"] = base64.b64encode(payload).decode()
    Path("b.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in changed))

    assert verified.status == 0, verified
    assert verified.out == (
        f"{session}/records/1: build PASSED\n{session}/records/2: tell\n2 statements: signed with this key, unchanged\n"
    )
    status, error = refused("attest", "--verify", "b.jsonl", "--key", "public.pem")
    assert (status, error["code"]) == (1, "ATTESTATION_INVALID")
    keys()
    assert refused("attest", "--verify", "a.jsonl", "--key", "public.pem")[0] == 1


def test_another_implementation_accepts_the_envelope_and_rejects_a_changed_one() -> None:
    session = finished_session()
    key = keys().public_key()
    other = SSlibKey.from_crypto(key, keyid=key_id(key))
    flow("attest", session, "--key", "private.pem", "--output", "a.jsonl")
    envelopes = lines(Path("a.jsonl").read_text())

    for envelope in envelopes:
        read = Envelope.from_dict(json.loads(json.dumps(envelope)))
        assert read.verify([other], 1) == {other.keyid: other}
        read.payload = read.payload.replace(b"records/", b"record5/")
        with pytest.raises(VerificationError):
            read.verify([other], 1)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["attest", "ID", "--verify", "a", "--key", "public.pem"], "USAGE"),
        (["attest", "--verify", "a"], "USAGE"),
        (["attest", "ID", "--key", "public.pem"], "KEY_UNUSABLE"),
        (["attest", "--verify", "empty", "--key", "private.pem"], "KEY_UNUSABLE"),
        (["attest", "--verify", "empty", "--key", "public.pem"], "USAGE"),
        (["attest", "--verify", "plain", "--key", "public.pem"], "ATTESTATION_INVALID"),
    ],
)
def test_wrong_use_is_refused_in_words(words: list[str], code: str) -> None:
    session = finished_session()
    keys()
    write("empty", "")
    write("plain", "{}\n")

    assert refused(*[session if word == "ID" else word for word in words])[1]["code"] == code
