"""`flow handoff check`, and the schemas of payloads."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.handoffs import send, session, target
from support.payloads import PAYLOADS, example, rendered, with_, without
from support.sandbox import flow, refused, told

from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import read_file
from flowrail.handoff.payload.models import json_schema

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def put(handoff: dict[str, object], name: str = "payload.json") -> str:
    Path(name).write_bytes(rendered(handoff, name.rpartition(".")[2]))
    return name


def fresh(version: str) -> dict[str, object]:
    """Return the example of a version without its expiry, written now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {**without(example(version), "expires_at"), "timestamp": now}


def test_a_check_can_be_strict() -> None:
    handoff = with_(with_(fresh("2.0"), "source.skill", "x"), "meta.handoff_chain", ["x"])
    handoff["mood"] = 1
    path = put(integrity.sealed("2.0", handoff), "p.yaml")

    lenient = flow("handoff", "check", path)

    assert lenient.status == 0
    assert "ignored, not defined by 2.0: handoff.mood" in lenient.out
    assert flow("handoff", "check", path, "--strict-v2").status == 1


def test_another_document_is_not_a_payload() -> None:
    Path("p.yaml").write_text("a: 1")
    ran = flow("handoff", "check", "p.yaml")

    assert ran.status == 1
    assert ran.out.splitlines()[-1] == "not a payload: 1 error"
    assert refused("handoff", "check", "nowhere")[0] == 2


def test_a_payload_is_printed_in_another_version_and_expires_an_hour_later() -> None:
    shutil.copy(PAYLOADS / "v1.yaml", "one.yaml")

    two = flow("handoff", "check", "one.yaml", "--to", "2.0")
    Path("two.yaml").write_text(two.out)
    three = flow("handoff", "check", "two.yaml", "--to", "3.0")
    Path("three.json").write_text(three.out)
    data = told("handoff", "check", "three.json", "--to", "2.0")["converted"]

    assert "added expires_at, meta.handoff_chain" in two.err
    assert flow("handoff", "check", "two.yaml").status == flow("handoff", "check", "three.json").status == 0
    assert "trace_id" in three.err.partition("added ")[2]
    assert (data["version"], data["handoff"]["context"]) == ("2.0", read_file("two.yaml").handoff["context"])


def test_a_payload_with_a_wrong_hash_is_not_converted() -> None:
    ran = flow("handoff", "check", str(PAYLOADS / "v2.yaml"), "--to", "3.0")

    assert ran.status == 1
    assert "is not the hash of the content" in ran.out


@pytest.mark.parametrize("version", ["1.0", "2.0", "3.0"])
def test_the_schema_of_a_payload_is_published(version: str) -> None:
    schema = json.loads((REFERENCE / f"handoff-{version}.schema.json").read_text(encoding="utf-8"))

    assert schema["title"] == f"Handoff payload {version}"
    assert schema == json_schema(version)


def test_control_characters_of_a_skill_are_never_printed() -> None:
    target(
        "digger",
        handoff_trigger='"--x \\u001b[31m {payload_path}"',
        handoff_description='"evil \\u202e text"',
    )
    session_id = session()

    ran = flow("discover", "--session", session_id)
    sent = send("digger", session_id)

    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "\x1b" not in sent["invocation"]
