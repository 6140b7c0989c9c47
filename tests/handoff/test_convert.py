"""Converting a payload lists what is added and lost, and keeps the rest."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.payloads import NOW, errors, example

from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.convert import ConvertedPayload
from flowrail.handoff.payload.convert import convert as convert_at


def convert(version: str, handoff: dict[str, Any], target: str) -> ConvertedPayload:
    return convert_at(version, handoff, target, now=NOW)


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), min_size=1, max_size=20
).filter(str.strip)
TEXTS = st.lists(TEXT, max_size=3)
LEVELS = st.sampled_from(["high", "medium", "low", "none"])
KINDS = st.sampled_from(["decision", "creative", "analytical", "strategic"])


def some(required: dict[str, Any], optional: dict[str, Any] | None = None) -> Any:
    return st.fixed_dictionaries(required, optional=optional or {})


TWO = some(
    {
        "version": st.just("2.0"),
        "timestamp": st.just("2026-02-04T19:30:00Z"),
        "expires_at": st.just("2026-02-04T20:30:00Z"),
        "source": some({"skill": st.just("a"), "workflow_id": TEXT, "session_path": TEXT}),
        "target": some(
            {"skill": TEXT.filter(lambda text: text != "a")}, {"invocation": TEXT, "category": TEXT}
        ),
        "context": some(
            {
                "original_prompt": TEXT,
                "problem_type": KINDS,
                "synthesis_summary": st.text("xy ", min_size=1).filter(str.strip),
            },
            {"reframed_challenge": TEXT},
        ),
        "meta": some(
            {"handoff_chain": st.just(["a"])},
            {
                "perspectives_completed": st.integers(0, 5),
                "convergence_level": LEVELS,
                "user_feedback": TEXT,
                "handoff_reason": TEXT,
            },
        ),
    },
    {
        "insights": some(
            {},
            {
                "convergent": st.lists(
                    some({"theme": TEXT}, {"confidence_score": st.floats(0, 10), "key_evidence": TEXTS}),
                    max_size=2,
                ),
                "divergent": st.lists(
                    some({"archetype": TEXT, "insight": TEXT}, {"confidence": st.integers(1, 5)}), max_size=2
                ),
                "uncertainties": TEXTS,
                "blind_spots": TEXTS,
            },
        ),
        "research_seeds": some(
            {}, {"suggested_terms": st.lists(some({"term": TEXT}), max_size=2), "open_questions": TEXTS}
        ),
    },
)


@given(TWO)
@settings(max_examples=60)
def test_2_0_survives_a_round_trip_through_3_0(two: dict[str, Any]) -> None:
    two = integrity.sealed("2.0", two)
    assert not errors(two, sealed=False)

    three = convert("2.0", two, "3.0")
    back = convert("3.0", dict(three.handoff), "2.0")

    assert not errors(three.handoff, sealed=False)
    assert not three.lost
    assert back.handoff == two


@pytest.mark.parametrize("version", ["1.0", "2.0", "3.0"])
def test_a_converted_payload_is_valid_however_old_it_was(version: str) -> None:
    later = NOW + timedelta(hours=2)
    target = "3.0" if version == "2.0" else "2.0"

    converted = convert_at(version, example(version), target, now=later)

    assert not errors(converted.handoff, sealed=False, now=later)
    if target == "2.0":
        assert converted.handoff["expires_at"] == "2026-02-04T22:40:00.000Z"
        assert "expires_at" in converted.added
    else:
        assert "expires_at" not in converted.handoff


def test_converting_3_0_to_2_0_lists_everything_that_is_lost() -> None:
    two = convert("3.0", example("3.0"), "2.0")

    assert not errors(two.handoff, sealed=False)
    assert set(two.lost) == {
        "trace_id",
        "source.phase",
        "meta.token_count",
        "meta.confidence",
        "tracing",
        "payload.session.state",
        "target.expected_phase",
        "meta.user_approved",
        "context.focus_areas",
        "context.success_criteria",
        "payload.session.artifacts: now references, without type and checksum",
        "context.problem_type: implementation becomes strategic",
        "payload.working.decision",
    }
    assert {"expires_at", "context.synthesis_summary"} <= set(two.added)
    assert [file["path"] for file in two.handoff["references"]["files"]] == [
        "/tmp/skill-editor-k3x9qa/spec.md",
        "src/importer.py",
    ]
    assert two.handoff["insights"] == {"uncertainties": ["which senders write months first"]}
    assert two.handoff["context"]["reframed_challenge"] == "Which order does a sender mean?"
    assert two.handoff["context"]["synthesis_summary"] == "The importer is to read dates of both orders."
