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

_SECONDS = 10.0


def endpoint(environ: Mapping[str, str]) -> str:
    """Return the address that takes traces, or nothing if no collector is named."""
    whole = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
    base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    url = whole or (f"{base.rstrip('/')}/v1/traces" if base else "")
    return url if url.startswith(("http://", "https://")) else ""


def send(spans: Iterable[TraceSpan], environ: Mapping[str, str]) -> None:
    """Send spans to the collector that *environ* names; `OSError` if it does not take them."""
    headers = {"Content-Type": "application/json"}
    for pair in environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","):
        name, equals, value = pair.partition("=")
        if equals:
            headers[name.strip()] = unquote(value.strip())
    data = json.dumps(otlp(spans, version=__version__)).encode()
    request = urllib.request.Request(endpoint(environ), data=data, headers=headers)  # noqa: S310 - http only
    with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310 - the same
        pass


def run_spans(runs: Iterable[AgentRun], trace_id: str) -> Iterator[TraceSpan]:
    """Yield a span for each run of an agent, below the session whose target it worked on."""
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
        done = {RunOutcome.FINISHED: True, RunOutcome.WAITING: None, RunOutcome.STOPPED: None}
        yield TraceSpan(
            trace_id,
            sha256_hex(f"run {run.run} {run.outcome}".encode())[:16],
            session_span(target_of(run.target).session),
            f"agent of pool {run.pool}",
            _iso(run.started_at),
            _iso(run.ended_at),
            attributes,
            done.get(run.outcome, False),
        )


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()
