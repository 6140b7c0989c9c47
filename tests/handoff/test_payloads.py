"""Validating a payload names every problem at once: shape, related fields, hash, expiry, files on disk."""

from __future__ import annotations

import json
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from support.payloads import NOW, PAYLOADS, errors, example, problems, with_

from flowrail.handoff.payload.check import CheckRules, check_payload
from flowrail.handoff.payload.document import read


def test_all_problems_are_listed_with_their_lines() -> None:
    text = (PAYLOADS / "v2.yaml").read_text()
    for old, new in (
        ("problem_type: strategic", "problem_type: odd"),
        ("convergence_level: medium", "convergence_level: 3"),
        ("skill: lit-pm", 'skill: ""'),
        ('  timestamp: "2026', '  timestamp: "soon 2026'),
    ):
        text = text.replace(old, new)

    result = check_payload(read(text.encode(), source="p.yaml"), CheckRules(NOW))

    assert [(p.line, p.field.removeprefix("handoff.")) for p in result.findings[:6]] == [
        (3, "timestamp"),
        (12, "target.skill"),
        (19, "context.problem_type"),
        (64, "meta.convergence_level"),
        (68, "meta.payload_hash"),
        (69, "meta.payload_size_bytes"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "`handoff` is missing: the document has no handoff"),
        ("handoff: text", "`handoff` must be a mapping"),
        ("handoff: {a: 1}", "`handoff.version` is missing"),
        ("handoff: {version: true}", "`handoff.version` is `True`; it must be `1.0`, `2.0` or `3.0`"),
    ],
)
def test_a_document_of_no_known_version_is_refused(text: str, message: str) -> None:
    result = check_payload(read(text.encode(), source="p"), CheckRules(NOW))

    assert [str(problem) for problem in result.findings] == [message]
    assert result.version is None


@pytest.mark.parametrize("wrapped", [True, False])
def test_1_2_is_refused_with_the_words_of_the_documents(wrapped: bool) -> None:
    handoff = {"producer": "programming-pm", "consumer": "x", "timestamp": "2026-02-04T19:30:00Z"}
    payload = read(json.dumps({"handoff": handoff} if wrapped else handoff).encode(), source="p")

    [problem] = check_payload(payload, CheckRules(NOW)).findings

    assert str(problem) == (
        "`handoff.version` is `1.2`, programming-pm internal schema (incompatible); an adapter is needed, "
        "and adapters are deferred"
    )


def test_strict_2_0_requires_the_source_of_the_published_schema() -> None:
    payload = with_(with_(example("2.0"), "source.skill", "other"), "meta.handoff_chain", ["other"])

    assert not errors(payload)
    assert errors(payload, strict_v2=True) == [
        "`handoff.source.skill` is `other`; the published schema requires `perspective-swarm`"
    ]
    named = with_(example("2.0"), "source.workflow_id", "perspective-swarm-k3x9qa")
    assert not errors(named)
    assert "requires the form `swarm-session-YYYYMMDD-" in errors(named, strict_v2=True)[0]
    assert not errors(example("2.0"), strict_v2=True)


def test_related_fields_must_agree() -> None:
    payload = example("2.0")

    assert errors(with_(payload, "target.skill", "perspective-swarm")) == [
        "`handoff.target.skill` is the source, `perspective-swarm`, itself"
    ]
    assert "ends with `b`, not" in errors(with_(payload, "meta.handoff_chain", ["a", "b"]))[0]
    assert errors(with_(payload, "expires_at", "2026-02-04T19:30:00Z"))[0] == (
        "`handoff.expires_at` is not after the timestamp"
    )
    loop = problems(with_(payload, "meta.handoff_chain", ["lit-pm", "perspective-swarm"]))
    assert ("may be a loop" in loop[0].message, loop[0].severity) == (True, "warning")


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("style", [{"separators": (",", ":"), "ensure_ascii": False}, {}])
def test_a_hash_over_the_keys_in_the_order_of_the_file_is_accepted(
    version: str, style: dict[str, Any]
) -> None:
    payload = with_(example(version), "target.category", "für alle")
    if version == "3.0":
        payload = with_(payload, "payload.working.zebra", {"z": 1.5, "a": "ä"})
    part = payload["payload"] if version == "3.0" else payload
    meta = {name: value for name, value in payload["meta"].items() if not name.startswith("payload_")}
    text = json.dumps(part if version == "3.0" else {**part, "meta": meta}, **style).encode()
    seal = {"payload_hash": f"sha256:{sha256(text).hexdigest()}", "payload_size_bytes": len(text)}

    assert not errors({**payload, "meta": {**meta, **seal}}, sealed=False)
    wrong = {**seal, "payload_size_bytes": len(text) + 1}
    assert (
        f"but the content has {len(text)} bytes"
        in errors({**payload, "meta": {**meta, **wrong}}, sealed=False)[0]
    )


def test_clocks_may_differ_by_five_minutes() -> None:
    payload, created = example("2.0"), NOW - timedelta(minutes=10)

    assert not errors(payload, now=created - timedelta(minutes=5))
    assert errors(payload, now=created - timedelta(minutes=5, seconds=1)) == [
        "`handoff.timestamp` is in the future: 2026-02-04T19:30:00.000Z"
    ]
    assert not errors(payload, now=created + timedelta(minutes=65))
    assert errors(payload, now=created + timedelta(minutes=65, seconds=1)) == [
        "`handoff.expires_at` has passed: 2026-02-04T20:30:00.000Z"
    ]
    assert not errors(payload, now=created + timedelta(days=1), allow_expired=True)
    assert not errors(example("3.0"), now=created + timedelta(days=9))
