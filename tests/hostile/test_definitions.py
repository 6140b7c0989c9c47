"""Definitions of sessions that somebody else wrote, or edited after their session was taken over."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.forged import folder_of
from support.judge import judged
from support.sandbox import (
    bytes_below,
    flow,
    home_skills,
    project_skills,
    put_skill,
    refused,
    sessions_folder,
    told,
)

from flowrail.machines.definition.serialization import to_plain
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions import definition_snapshot, limits
from flowrail.machines.sessions.strangers import check_definition

CODED = """\
from flowrail import Outcome, StepDef, Workflow
WORKFLOW = Workflow(
    "coded",
    StepDef("a", "A", lambda _: ["Do it."], next={Outcome.OK: None}, when=None),
)
"""
STATE = Path(".local", "state", "flowrail")


@pytest.fixture
def foreign() -> str:
    """A session that somebody else began."""
    put_skill("plain")
    session = str(told("start", "plain")["session"])
    (Path.home() / STATE / "key").unlink()
    return session


def definition(session: str) -> Path:
    return folder_of(session) / "definition.json"


def changed(session: str, change: Callable[[dict[str, Any]], object]) -> None:
    kept = json.loads(definition(session).read_text())
    change(kept["workflow"])
    definition(session).write_text(json.dumps(kept))


def step(**parts: Any) -> Callable[[dict[str, Any]], object]:
    return lambda workflow: workflow["steps"][0].update(parts)


def chained(workflow: dict[str, Any]) -> None:
    """Put steps between the two, of which each may not apply."""
    first, last = workflow["steps"]
    names = [f"s{number}" for number in range(1_501)]
    between = [
        {**first, "id": name, "when": "topic == 'a'", "next": {"ok": after}}
        for name, after in zip(names, [*names[1:], last["id"]], strict=True)
    ]
    workflow["params"] = {"topic": {"type": "string", "default": "a"}}
    workflow["steps"] = [{**first, "next": {"ok": names[0]}}, *between, last]


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "a step that is not there": step(next={"ok": "nowhere"}),
    "an outcome that nobody knows": step(next={"obey": "second"}),
    "an entry that is not there": lambda workflow: workflow.update(entry="nowhere"),
    "no step": lambda workflow: workflow.update(steps=[]),
    "two steps of one id": lambda workflow: workflow["steps"].append(workflow["steps"][0]),
    "a condition of another language": step(when="__import__('os')"),
    "1,501 steps that may not apply": chained,
    "half a character": lambda workflow: workflow.update(description="a \ud800 b"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_definition_with_which_nothing_could_begin_is_damage_where_somebody_else_wrote_it(
    foreign: str, what: str
) -> None:
    changed(foreign, FORGED[what])

    for form in ("mermaid", "html"):
        ran = judged("diagram", "--session", foreign, "--format", form)
        assert ran.status == 3
        assert "is damaged" in ran.err
    assert "DEFINITION_DAMAGED" in judged("verify", foreign, "--json").out
    for words in (["adopt", foreign], ["record", foreign], ["coverage", "plain", "--sessions"]):
        judged(*words)
    assert refused("resume", foreign)[0] == 3


def test_a_folder_of_which_the_name_is_none_is_damage_where_somebody_else_wrote_it(foreign: str) -> None:
    path = folder_of(foreign) / "definition.json"
    kept = json.loads(path.read_bytes())
    kept.pop("mac", None)

    for name, status in (("a \ud800", 3), ("a \udcff", 0)):
        path.write_text(json.dumps({**kept, "folder": name}))
        judged("adopt", foreign)
        assert judged("resume", foreign).status == status


@contextmanager
def nothing_parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail where JSON is read as a whole."""
    with monkeypatch.context() as patch:
        patch.setattr("json.loads", lambda _: pytest.fail("it was parsed"))
        yield


@pytest.mark.parametrize("data", [b'"' + b"x" * limits.LARGEST_DEFINITION + b'"'])
def test_a_definition_that_would_take_much_memory_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    path = tmp_path / "definition.json"
    path.write_bytes(data)

    with nothing_parsed(monkeypatch):
        assert definition_snapshot.usable(str(path)) == ""


def test_a_definition_that_is_edited_after_it_was_taken_over_is_told(foreign: str) -> None:
    told("adopt", foreign)
    assert told("resume", foreign)["actions"]
    changed(foreign, step(actions=["Obey."]))

    for words in (["resume", foreign], ["step", "plain", "ok", "--session", foreign]):
        status, error = refused(*words)
        assert status == 3
        assert "is not the definition that was taken over" in error["message"]
        assert f"flow adopt {foreign}" in error["hint"]
    ran = flow("verify", foreign, "--json")
    assert ran.status == 1
    (problem,) = ran.data["sessions"][0]["problems"]
    assert problem["code"] == "DEFINITION_DAMAGED"
    assert "is not the definition that was taken over" in problem["message"]


def test_it_can_be_taken_over_as_it_is_or_written_anew(foreign: str) -> None:
    told("adopt", foreign)
    before = definition(foreign).read_bytes()
    changed(foreign, step(title="Another"))
    told("adopt", foreign)
    assert told("resume", foreign)["step"]["title"] == "Another"

    definition(foreign).write_bytes(before)
    assert refused("resume", foreign)[0] == 3
    told("migrate", foreign)

    assert told("resume", foreign)["step"]["title"] == "First"
    assert json.loads(definition(foreign).read_text())["workflow"] == json.loads(before)["workflow"]


def test_what_was_taken_over_goes_on_with_an_edited_skill(foreign: str) -> None:
    told("adopt", foreign)
    workflow = Path(".claude/skills/plain/workflow.yaml")
    workflow.write_text(workflow.read_text().replace("Do the second thing.", "Do it otherwise."))

    told("step", "plain", "ok", "--session", foreign)

    assert told("resume", foreign)["actions"] == ["Do it otherwise."]
    assert flow("verify", foreign).status == 0


def test_a_definition_whose_texts_are_made_by_code_is_one_with_which_it_could_begin() -> None:
    computed = Workflow(
        "computed",
        StepDef("a", lambda _: "A", lambda _: ["Do it."], lambda _: Outcome.OK, {Outcome.OK: "b"}),
        StepDef(
            "b", "B", lambda _: ["Do it."], next={Outcome.OK: "c", Outcome.SKIP: "c"}, when=lambda _: True
        ),
        StepDef("c", "C", ["Tell $x."], next={Outcome.OK: None}),
    )

    check_definition({"workflow": to_plain(computed)})


def test_a_session_of_ones_own_places_that_is_code_goes_on_once_it_was_taken_over() -> None:
    put_skill("coded", CODED, where=home_skills(), file="workflow.py")
    session = str(told("start", "coded")["session"])
    (Path.home() / STATE / "key").unlink()

    told("adopt", session)

    assert told("resume", session)["actions"] == ["Do it."]
    assert flow("verify", session).status == 0


def test_what_was_taken_over_goes_on_however_often_its_new_definition_could_not_be_written(
    foreign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told("adopt", foreign)
    file = project_skills() / "plain" / "workflow.yaml"
    before = file.read_text()
    file.write_text(before.replace("First", "Another"))

    def full(source: str, target: str, replace: Callable[[str, str], None] = os.replace) -> None:
        if target.endswith("definition.json"):
            raise OSError(errno.ENOSPC, "no space left")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        for _ in range(3):
            assert refused("step", "plain", "ok", "--session", foreign)[0] == 3
    file.write_text(before)

    assert told("step", "plain", "ok", "--session", foreign)["step"]["id"] == "second"


@pytest.fixture
def own() -> str:
    put_skill("plain", where=home_skills())
    return str(told("start", "plain")["session"])


def no_mark(session: str) -> None:
    kept = json.loads(definition(session).read_text())
    del kept["mac"]
    definition(session).write_text(json.dumps(kept))


def that_of_another(session: str) -> None:
    other = str(told("start", "plain")["session"])
    definition(session).write_bytes(definition(other).read_bytes())
    told("abandon", other)


@pytest.mark.parametrize(
    "forge", [lambda session: changed(session, step(actions=["Obey."])), no_mark, that_of_another]
)
def test_a_definition_that_somebody_else_put_into_a_session_of_ones_own_is_told_and_never_gone_by(
    own: str, forge: Callable[[str], None]
) -> None:
    forge(own)

    for words in (["resume", own], ["step", "plain", "ok"], ["fork", own, "--at", "0"]):
        status, error = refused(*words)
        assert (status, error["code"]) == (3, "STORAGE"), words
        assert "is not as it was written" in error["message"]
        assert f"flow migrate {own}" in error["hint"]
    (problem,) = flow("verify", own, "--json").data["sessions"][0]["problems"]
    assert problem["code"] == "DEFINITION_DAMAGED"
    told("migrate", own)
    assert told("step", "plain", "ok")["step"]["id"] == "second"
    assert flow("verify", own).status == 0


LARGE = """\
from flowrail import Outcome, StepDef, Workflow
WORKFLOW = Workflow(
    "large",
    *(StepDef(f"s{n}", "S", ["{} " * 20_000], next={Outcome.OK: f"s{n + 1}"}) for n in range(COUNT)),
    StepDef("sCOUNT", "Last", ["Tell it."], next={Outcome.OK: None}),
)
"""
EACH = 60_000


def large(size: int) -> None:
    """Write a workflow whose texts have about *size* bytes, many braces among them."""
    put_skill("large", LARGE.replace("COUNT", str(size // EACH)), where=home_skills(), file="workflow.py")


def test_what_begins_can_be_gone_on_with_however_large_its_texts_are() -> None:
    large(limits.LARGEST_OWN_DEFINITION - EACH)

    session = str(told("start", "large")["session"])

    assert told("step", "large", "ok")["step"]["id"] == "s1"
    assert told("fork", session, "--at", "0")["step"]["id"] == "s0"
    assert flow("verify", session).status == 0


def test_a_workflow_that_is_too_large_to_keep_is_refused_before_anything_is_written() -> None:
    large(limits.LARGEST_OWN_DEFINITION + EACH)

    status, error = refused("start", "large")

    assert status == 3
    assert "are the most that a session keeps" in error["message"]
    assert "part the workflow" in error["hint"]
    assert not sessions_folder().exists()


@pytest.mark.parametrize("words", [["step", "large", "ok"], ["migrate", "SESSION"]])
def test_a_workflow_that_grows_too_large_leaves_its_session_as_it_was(words: list[str]) -> None:
    large(EACH)
    session = str(told("start", "large")["session"])
    large(limits.LARGEST_OWN_DEFINITION + EACH)

    before = bytes_below(sessions_folder(), {"lock"})

    status, error = refused(*(session if word == "SESSION" else word for word in words))

    assert (status, error["code"]) == (3, "TOO_LARGE")
    assert bytes_below(sessions_folder(), {"lock"}) == before
    large(EACH)
    assert told("step", "large", "ok")["step"]["id"] == "s1"


def test_of_what_others_wrote_only_small_definitions_are_read() -> None:
    large(limits.LARGEST_DEFINITION + EACH)
    session = str(told("start", "large")["session"])
    (Path.home() / STATE / "key").unlink()

    told("adopt", session)

    status, error = refused("resume", session)
    assert status == 3
    assert f"flow migrate {session}" in error["hint"]
    told("migrate", session)
    assert told("resume", session)["step"]["id"] == "s0"
