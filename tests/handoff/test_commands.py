"""`flow handoff check`, and the schemas of payloads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.payloads import PAYLOADS
from support.sandbox import flow, told

from flowrail.handoff.payload.document import read_file
from flowrail.handoff.payload.models import json_schema

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


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


@pytest.mark.parametrize("version", ["1.0", "2.0", "3.0"])
def test_the_schema_of_a_payload_is_published(version: str) -> None:
    schema = json.loads((REFERENCE / f"handoff-{version}.schema.json").read_text(encoding="utf-8"))

    assert schema["title"] == f"Handoff payload {version}"
    assert schema == json_schema(version)
