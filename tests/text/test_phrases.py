"""Ages and sizes as people read them, and suggestions for misspelt names."""

from __future__ import annotations

import pytest

from flowrail.text.phrases import ago, did_you_mean, near

NOW = "2026-11-19T12:00:00.000Z"


@pytest.mark.parametrize(
    ("then", "shown"),
    [
        ("2026-11-19T12:00:00.000Z", "just now"),
        ("2026-11-19T11:59:20Z", "just now"),
        ("2026-11-19T11:57:00.000Z", "3 min ago"),
        ("2026-11-19T10:01:00.000Z", "1 h ago"),
        ("2026-11-17T11:00:00+00:00", "2 d ago"),
        ("2026-11-19T12:00:05.000Z", "just now"),
    ],
)
def test_an_age_is_one_number_and_a_unit(then: str, shown: str) -> None:
    assert ago(then, NOW) == shown


def test_the_closest_names_are_suggested_in_any_case() -> None:
    assert near("invesigate", ["report", "investigate", "Investigates"]) == ["investigate", "Investigates"]
    assert near("inv", ["report", "investigate"]) == ["investigate"]
    assert did_you_mean("stpe", ["step"], "none") == "did you mean `step`?"
    assert did_you_mean("zzz", ["step"], "see --help") == "see --help"
