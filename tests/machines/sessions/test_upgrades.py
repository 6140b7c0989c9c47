"""Sessions of an earlier format are upgraded; see tests/golden/sessions for whole journals."""

from __future__ import annotations

import pytest

from flowrail.machines.sessions.record import (
    NewerFormatError,
    session_of_today,
)
from flowrail.machines.sessions.session import FORMAT


def test_format_1_may_leave_out_its_number_and_holds_empty_mappings_for_what_is_absent() -> None:
    first = {
        "id": "x",
        "graph": "a",
        "here": "b",
        "parent": {},
        "received": {"from": "source", "arrived": "hashed"},
        "last": {"passed": ["b"], "said": []},
    }

    assert session_of_today(first) == {
        "id": "x",
        "workflow_fingerprint": "a",
        "step_fingerprint": "b",
        "format": FORMAT,
        "parent": None,
        "received": {"source": "source", "origin": "hashed"},
        "host": None,
        "last": {"skipped": ["b"], "answers": []},
    }


@pytest.mark.parametrize("number", [FORMAT + 1, 0, True, "1", None])
def test_a_later_format_is_refused_and_says_what_to_use(number: object) -> None:
    with pytest.raises(NewerFormatError) as caught:
        session_of_today({"format": number})

    assert (caught.value.code, caught.value.exit_status) == ("NEWER_FORMAT", 3)
    assert "version of flowrail" in str(caught.value.hint)
