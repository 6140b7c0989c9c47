"""A step prints the models, times and losses of its sub-agents, and which agent asks the user."""

from __future__ import annotations

import pytest
from support.dispatching_skill import FREE, put_lead
from support.sandbox import flow, told


@pytest.mark.parametrize("form", ["xml", "text", "json"])
def test_which_model_is_advised_is_told_in_every_form(form: str) -> None:
    put_lead("free", FREE.replace("join: JOIN", "join: JOIN, model: haiku"))
    told("step", "free", "--new")

    assert flow("resume", "--format", form).out.count("haiku") == (1 if form == "json" else 3)


def test_an_agent_that_lost_its_work_is_told_so_and_nothing_to_do() -> None:
    put_lead()
    begun = told("step", "lead", "--new")
    child = told(*begun["dispatches"][0]["command"].split()[1:])
    flow("step", "--session", begun["session"], "--again", "1")

    for words in (["resume"], ["sessions"], ["step", "lead/one", "--session"]):
        resumed = told(*words, child["session"])
        out = flow(*words, child["session"]).out

        assert resumed["next"] == []
        assert resumed["ask_command"] is None
        assert (resumed["status"], resumed["resumed"]) == ("active", True)
        (only,) = resumed["actions"]
        assert only.startswith(
            f"Session `{child['session']}` has lost its work: dispatch 1 of `{begun['session']}` has a new session"
        )
        assert only.endswith("Stop here and say so; further reports would be ignored.")
        assert "flow step" not in out
        assert "lost its work" in out
