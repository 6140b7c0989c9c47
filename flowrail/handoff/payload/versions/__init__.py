"""The payload versions, one pydantic model each. A model checks the shape; `validate` checks the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from flowrail.handoff.payload.versions.v1 import DocumentV1
from flowrail.handoff.payload.versions.v1_2 import DocumentV12
from flowrail.handoff.payload.versions.v2 import DocumentV2
from flowrail.handoff.payload.versions.v3 import DocumentV3

MODELS: Mapping[str, type[BaseModel]] = {
    "1.0": DocumentV1,
    "1.2": DocumentV12,
    "2.0": DocumentV2,
    "3.0": DocumentV3,
}
PUBLISHED = ("1.0", "2.0", "3.0")
"""The versions with a published JSON Schema."""


def json_schema(version: str) -> dict[str, Any]:
    """Return the JSON Schema of a version."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **MODELS[version].model_json_schema(),
        "title": f"Handoff payload {version}",
    }
