"""`flow handoff validate`, `convert` and `diagram`, and the schemas of payloads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from support.handoffs import send, session, target
from support.payloads import PAYLOADS, example, with_
from support.sandbox import flow, refused, told

from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import read, render


def put(handoff: dict[str, object], name: str = "payload.json") -> str:
    Path(name).write_bytes(render(handoff, "json" if name.endswith("json") else "yaml"))
    return name


def test_validation_can_be_stricter_or_more_lenient() -> None:
    handoff = with_(with_(example("2.0"), "source.skill", "x"), "meta.handoff_chain", ["x"])
    handoff["mood"] = 1
    path = put(integrity.sealed("2.0", handoff), "p.yaml")

    assert flow("handoff", "validate", path).status == 1
    lenient = flow("handoff", "validate", path, "--allow-expired")
    assert lenient.status == 0
    assert "ignored, not defined by 2.0: handoff.mood" in lenient.out
    assert flow("handoff", "validate", path, "--allow-expired", "--strict-v2").status == 1


def test_another_document_is_not_a_payload() -> None:
    Path("p.yaml").write_text("a: 1")
    ran = flow("handoff", "validate", "p.yaml")

    assert ran.status == 1
    assert ran.out.splitlines()[-1] == "not a payload: 1 error"
    assert refused("handoff", "validate", "nowhere")[0] == 2


def test_a_conversion_there_and_back_in_files() -> None:
    shutil.copy(PAYLOADS / "v1.yaml", "one.yaml")

    assert flow("handoff", "convert", "one.yaml", "--to", "2.0", "-o", "two.yaml").status == 0
    converted = told("handoff", "convert", "two.yaml", "--to", "3.0", "-o", "three.json")
    assert flow("handoff", "convert", "three.json", "--to", "2.0", "-o", "back.yaml").status == 0

    assert (converted["versions"], converted["lost"], converted["file"]) == (["2.0", "3.0"], [], "three.json")
    two, back = (read(Path(name).read_bytes(), source=name).handoff for name in ("two.yaml", "back.yaml"))
    assert {**two, "expires_at": 0, "meta": 0} == {**back, "expires_at": 0, "meta": 0}
    assert refused("handoff", "convert", "two.yaml", "--to", "3.0", "-o", "three.json")[0] == 2
    assert told("handoff", "convert", str(PAYLOADS / "v1_2.yaml"), "--to", "3.0")["version"] == "3.0"


def test_a_payload_with_a_wrong_hash_is_converted_only_if_forced() -> None:
    path = str(PAYLOADS / "v2.yaml")

    status, error = refused("handoff", "convert", path, "--to", "3.0")
    assert (status, len(error["details"]["validation_errors"])) == (6, 2)
    assert told("handoff", "convert", path, "--to", "3.0", "--force")["version"] == "3.0"
    ran = flow("handoff", "convert", path, "--to", "3.0", "--force")
    assert f"the hash of {path} is wrong; it is converted because of --force" in ran.err


def test_the_schema_of_a_payload_is_published() -> None:
    assert json.loads(flow("skill", "schema", "handoff-1.0").out)["title"] == "Handoff payload 1.0"


def test_control_characters_of_a_skill_are_never_printed() -> None:
    target(
        "digger",
        handoff_trigger='"--x \\u001b[31m {payload_path}"',
        handoff_description='"evil \\u202e text"',
    )
    session_id = session()

    ran = flow("handoff", "targets", "--session", session_id)
    sent = send("digger", session_id)

    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "\x1b" not in sent["invocation"]
