"""A session as a trace of OpenTelemetry: one trace with its steps, its sub-agents and its handoffs."""

from __future__ import annotations

from typing import Any

from support.fleets import put_trial
from support.handoffs import ours, receive, send, session
from support.sandbox import flow, told


def spans(session_id: str) -> list[dict[str, Any]]:
    """Return the spans that `flow session trace` prints, each with its attributes as a mapping."""
    document = flow("session", "trace", session_id).data
    printed = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return [
        span
        | {"attributes": {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}}
        for span in printed
    ]


def test_the_steps_of_a_sub_agent_are_below_the_step_that_dispatched_it() -> None:
    put_trial()
    parent = told("start", "trial")["session"]
    child = told("claim", parent, "d0-1")["session"]
    assert flow("step", "trial/look", "fail", "--session", child).status == 0
    assert flow("step", "trial", "fail", "--session", parent).status == 0

    by_name = {span["name"]: span for span in spans(parent)}

    assert {span["traceId"] for span in by_name.values()} == {by_name["trial"]["traceId"]}
    assert by_name["gather"]["parentSpanId"] == by_name["trial"]["spanId"]
    assert by_name["trial/look"]["parentSpanId"] == by_name["gather"]["spanId"]
    assert by_name["first"]["parentSpanId"] == by_name["trial/look"]["spanId"]
    assert by_name["first"]["attributes"]["flow.outcome"] == "fail"
    assert by_name["trial"]["status"] == {"code": 2}
    assert int(by_name["trial"]["startTimeUnixNano"]) <= int(by_name["first"]["startTimeUnixNano"])


def test_a_session_that_took_over_a_handoff_is_in_the_trace_of_the_one_that_sent_it() -> None:
    ours("source")
    ours("target")
    source = session()
    sent = send("target", source)
    assert receive(sent).status == 0

    by_name = {span["name"]: span for span in spans(source)}

    assert by_name["handoff to target"]["parentSpanId"] == by_name["source"]["spanId"]
    assert by_name["target"]["parentSpanId"] == by_name["handoff to target"]["spanId"]
    assert len({span["traceId"] for span in by_name.values()}) == 1
    received = by_name["target"]["attributes"]["flow.session"]
    assert {span["traceId"] for span in spans(received)} == {by_name["source"]["traceId"]}
