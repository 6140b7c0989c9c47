"""Spans, and their form as JSON of the OpenTelemetry protocol, which collectors take at `/v1/traces`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

Attribute = str | int | float | bool
_INTERNAL = 1
_OK, _ERROR = 1, 2


class SpanEvent(NamedTuple):
    """Something that happened during a span."""

    at: str
    name: str
    attributes: Mapping[str, Attribute]


class TraceSpan(NamedTuple):
    """A span. Its times are in ISO 8601. ``succeeded`` is `None` if it has not ended or has no result."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    started_at: str
    ended_at: str
    attributes: Mapping[str, Attribute]
    succeeded: bool | None = None
    events: tuple[SpanEvent, ...] = ()


def otlp(spans: Iterable[TraceSpan], *, version: str) -> dict[str, object]:
    """Return spans as one request to a collector."""
    scope = {"name": "flowrail", "version": version}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": "flowrail"})},
                "scopeSpans": [{"scope": scope, "spans": [_span(span) for span in spans]}],
            }
        ]
    }


def _span(span: TraceSpan) -> dict[str, object]:
    status = {} if span.succeeded is None else {"code": _OK if span.succeeded else _ERROR}
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": _nanoseconds(span.started_at),
        "endTimeUnixNano": _nanoseconds(span.ended_at),
        "attributes": _attributes(span.attributes),
        "events": [
            {
                "timeUnixNano": _nanoseconds(event.at),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ],
        "status": status,
    }


def _attributes(values: Mapping[str, Attribute]) -> list[dict[str, object]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Attribute) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _nanoseconds(moment: str) -> str:
    return str(round(datetime.fromisoformat(moment).timestamp() * 1_000_000) * 1_000)
