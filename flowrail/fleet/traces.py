"""Send the trace of a session to an OpenTelemetry collector when the session has ended.

The usual variables name the collector: `OTEL_EXPORTER_OTLP_ENDPOINT`, and `OTEL_EXPORTER_OTLP_HEADERS` for a key.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import unquote

from flowrail import __version__
from flowrail.fleet.records import AgentRun, RunOutcome
from flowrail.fleet.targets import target_of
from flowrail.formatters.reports.trace import Attribute, TraceSpan, otlp
from flowrail.operations.sessions.trace import session_span
from flowrail.storage.files import sha256_hex

_TIMEOUT_SECONDS = 10.0


def endpoint(environ: Mapping[str, str]) -> str:
    """Return the address for traces; it is empty if *environ* names no collector."""
    base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    url = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "") or f"{base.rstrip('/')}/v1/traces"
    return url if url.startswith(("http://", "https://")) else ""


def send(spans: Iterable[TraceSpan], environ: Mapping[str, str]) -> None:
    """Send spans to the collector that *environ* names; `OSError` if it refuses them."""
    headers = {"Content-Type": "application/json"}
    for pair in environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","):
        name, equals, value = pair.partition("=")
        if equals:
            headers[name.strip()] = unquote(value.strip())
    data = json.dumps(otlp(spans, version=__version__)).encode()
    request = urllib.request.Request(endpoint(environ), data=data, headers=headers)  # noqa: S310 - http only
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):  # noqa: S310 - the same
        pass


def run_spans(runs: Iterable[AgentRun], trace_id: str) -> Iterator[TraceSpan]:
    """Yield a span for each run of an agent. Its parent is the span of the session that the agent worked on."""
    succeeded = {RunOutcome.FINISHED: True, RunOutcome.WAITING: None, RunOutcome.STOPPED: None}
    for run in runs:
        attributes: dict[str, Attribute] = {
            "flow.run": run.run,
            "flow.target": run.target,
            "flow.pool": run.pool,
            "flow.outcome": str(run.outcome),
            "host.name": run.machine,
        }
        if run.cost is not None:
            attributes["flow.cost"] = run.cost
        if run.tokens is not None:
            attributes["flow.tokens"] = run.tokens
        yield TraceSpan(
            trace_id,
            sha256_hex(f"run {run.run} {run.outcome}".encode())[:16],
            session_span(target_of(run.target).session),
            f"agent of pool {run.pool}",
            _iso(run.started_at),
            _iso(run.ended_at),
            attributes,
            succeeded.get(run.outcome, False),
        )


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()
