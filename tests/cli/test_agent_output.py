"""A step prints the models, times and losses of its sub-agents, and who asks the user."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest
from support.dispatching_skill import FREE, ONE, Team, put_lead
from support.sandbox import flow, put_skill, refused, told

from flowrail.formatters.guidance import as_text
from flowrail.formatters.guidance import as_xml as guidance_as_xml

QUESTION = json.dumps(
    [{"id": "db", "header": "Db", "text": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]
)
TOWER = """\
name: NAME
steps:
  - {id: top, title: Top, actions: [Top.], dispatch: {agent: explore, run: NAME/mid}, next: {ok: null, fail: null}}
"""
MID = """\
name: NAME/mid
steps:
  - {id: mid, title: Mid, actions: [Mid.], dispatch: {agent: explore, run: NAME/one, vars: {area: x}}, next: {ok: ask}}
  - id: ask
    title: Ask
    actions: [Ask.]
    questions: [{id: go, header: Go, text: "Go?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]}]
    next: {ok: null, fail: null}
"""


@pytest.mark.parametrize("form", ["xml", "text", "json"])
def test_which_model_is_advised_is_told_in_every_form(form: str) -> None:
    put_lead("free", FREE.replace("lease: 600", "model: haiku"))
    told("start", "free")

    assert flow("resume", "--format", form).out.count("haiku") == 3


def test_a_prompt_whose_lease_is_over_is_claimed_anew_and_the_agent_before_is_refused() -> None:
    put_lead("free", FREE)
    team = Team("free")
    late = team.handed(1, "ann")
    assert team.told().dispatches[0].resume is not None

    team.clock.forward(601)
    told_now = team.told()
    view = told_now.dispatches[0]

    assert (view.lease_over, view.resume) == (True, None)
    assert "claimed by ann, lease expired\n    flow claim" in as_text.render(told_now)
    assert 'lease="over"' in guidance_as_xml.render(told_now)
    assert "If its agent is gone or its lease has expired, launch a new agent" in guidance_as_xml.render(
        told_now
    )
    assert team.handed(1, "bob").dispatch.token != late.dispatch.token
    assert team.told().dispatches[0].lease_over is False
    assert refused(*late.finish[0].words[1:])[1]["code"] == "DISPATCH_GONE"


def test_an_agent_that_lost_its_work_is_told_so_and_nothing_to_do() -> None:
    put_lead()
    begun = told("start", "lead")
    child = told(*begun["dispatches"][0]["command"].split()[1:])
    flow("finish", begun["session"], "d0-1", "--cancel")

    for words in (["resume"], ["status"], ["step", "lead/one", "--session"]):
        here = told(*words, child["session"])
        out = flow(*words, child["session"]).out

        assert here["next"] == []
        assert here["ask_command"] is None
        assert (here["status"], here["resumed"]) == ("active", True)
        (only,) = here["actions"]
        assert only.startswith(
            f"Session `{child['session']}` lost its dispatch `d0-1` of `{begun['session']}`: "
        )
        assert only.endswith(": it is cancelled. Stop here and say so; further reports would be ignored.")
        assert "flow step" not in out
        assert "lost its dispatch" in out


def test_an_agent_between_hands_questions_up_and_asks_nobody() -> None:
    put_skill("tower", TOWER, texts={"workflows/mid.yaml": MID, "workflows/one.yaml": ONE})
    top = told("start", "tower")
    first = flow(*top["dispatches"][0]["command"].split()[1:]).out
    mid = ET.fromstring(first).get("session", "")  # noqa: S314 - our own output
    low = told(*told("status", mid)["dispatches"][0]["command"].split()[1:])["session"]
    flow("ask", low, "-", stdin=QUESTION.encode())

    between, above = (flow("resume", each).out for each in (mid, top["session"]))

    assert "You work for another agent and cannot ask the user either." in first
    for shown in (first, between):
        assert "your question tool" not in shown
    line = re.search(r"NEXT for the agent that launched this one: flow (resume [^<]*)</ask>", between)
    assert line
    assert told(*line[1].split())["session"] == top["session"]
    assert "your question tool" in above
    answer = re.search(r">flow (answer [^<]*)</option>", above)
    assert answer
    assert f"flow resume {low} " in flow(*answer[1].split()).out
