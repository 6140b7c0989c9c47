"""What a payload gives to the session that takes over: parameters, and whom the work came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flowrail.handoff.handoff import Handoff
from flowrail.handoff.payload import convert
from flowrail.handoff.payload.build import ASKED, PROMPTS
from flowrail.handoff.payload.document import (
    Payload,
    get,
    text_at,
    texts_at,
)
from flowrail.machines.definition.values import Arg
from flowrail.machines.guidance.received_work import ARRIVED, HASHED, UNHASHED


def params_from(declared: Mapping[str, Arg], payload: Payload) -> dict[str, Any]:
    """Return the parameters of a workflow that a payload can fill, each one that fits."""
    three = convert.convert(payload.version, payload.handoff, "3.0").handoff
    found: dict[str, Any] = {}
    for name, arg in declared.items():
        path = "context.original_prompt" if name in PROMPTS else f"context.{name}"
        summary = get(three, "context.summary") if name in PROMPTS else None
        values = (get(three, path), get(three, f"payload.working.{name}"), summary)
        fitting = [value for value in values if value not in (None, "") and arg.problem(value) is None]
        if fitting:
            found[name] = fitting[0]
    return found


def carried(handoff: Handoff, payload: Payload, copy: str) -> dict[str, Any]:
    """Return what a session that takes over knows of the handoff: enough to carry chain and trace on."""
    three = convert.convert(payload.version, payload.handoff, "3.0").handoff
    arrived = {ARRIVED: HASHED if handoff.payload_hash else UNHASHED} if handoff.foreign else {}
    return {
        **arrived,
        "handoff": handoff.id,
        "from": text_at(three, "source.skill"),
        "payload": copy,
        "sha256": payload.digest,
        "version": payload.version,
        "chain": texts_at(three, "meta.handoff_chain"),
        "hops": handoff.hops,
        "trace_id": handoff.trace_id or text_at(three, "trace_id"),
        "span_id": handoff.span_id or text_at(three, "tracing.parent_span_id"),
        "reason": text_at(three, "meta.handoff_reason"),
        "summary": text_at(three, "context.summary"),
        "asked": {name: value for name, value in _asked(three) if value not in (None, "", [])},
    }


def _asked(three: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what the user asked, by the names of facts: whoever takes the work on needs it too."""
    for name in ASKED:
        found = get(three, f"context.{name}")
        yield name, get(three, f"payload.working.{name}") if found is None else found
