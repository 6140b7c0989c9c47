"""A session becomes a payload: facts by their names, texts by their parts, numbers as they are meant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flowrail.errors import DocumentError
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.payload.build import HandoffSource, build
from flowrail.handoff.source import trigger_line, trigger_template
from flowrail.machines.session import Session


def built(schema: str = "2.0", **facts: Any) -> dict[str, Any]:
    session = Session("source-abcdef", "source", "tell", params={"prompt": "Why?"}, state=facts)
    handoff = Handoff(
        "handoff-abcdef",
        "source",
        "digger",
        session=session.id,
        schema=schema,
        chain=("source",),
        trace_id="t",
    )
    source = HandoffSource("source", ("source",), {**session.params, **facts}, session)
    now = datetime(2026, 2, 4, 19, 30, tzinfo=UTC)
    return build(source, handoff, folder="/s", project=str(Path.cwd()), now=now)[0]


def test_a_confidence_is_halved_only_if_its_scale_is_declared() -> None:
    insights = [{"archetype": "a", "insight": "b", "confidence": number} for number in range(11)]

    halved = built(divergent_insights=insights, confidence_scale="0-10")["insights"]["divergent"]
    declared = built(divergent_insights=insights, confidence_scale="1-5")["insights"]["divergent"]
    plain = built(divergent_insights=insights)["insights"]["divergent"]

    assert [insight["confidence"] for insight in halved] == [1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [insight["confidence"] for insight in plain] == list(range(11))  # 6 to 10 are refused later
    assert declared == plain
    with pytest.raises(DocumentError) as caught:
        built(divergent_insights=insights, confidence_scale="7")
    assert str(caught.value.hint) == "write 1-5 or 0-10"


OPERATORS = ("; x", "$(x)", "\\", "it's")


@pytest.mark.parametrize(
    ("trigger", "shown"),
    [
        ("{payload_path}", "/digger '/a b'"),
        ("--handoff {payload_path}", "/digger --handoff '/a b'"),
        ("/other run {payload_path} {x} {0}", "/other run '/a b' {x} {0}"),
        ("--quick", "/digger --quick '/a b'"),
        ("--a\n--b\x1b {payload_path}", "/digger --a --b '/a b'"),
        *((f"--a {operator} {{payload_path}}", "/digger '/a b'") for operator in OPERATORS),
        ("/usr/bin/env sh {payload_path}", "/digger '/a b'"),
        ('--handoff "{payload_path}"', "/digger --handoff '/a b'"),
        ("--handoff='{payload_path}'", "/digger --handoff='/a b'"),
        ("--note 'two words' {payload_path}", "/digger --note 'two words' '/a b'"),
    ],
)
def test_the_line_follows_the_trigger(trigger: str, shown: str) -> None:
    assert trigger_line(trigger_template(trigger, "digger"), "digger", "/a b") == shown
    assert trigger_line(trigger, "digger", "/a b") == shown
