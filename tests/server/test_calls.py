"""Commands as calls: every one that is printed has a call that says the same, and nothing else becomes one."""

from __future__ import annotations

import shlex
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workflows import linear

from flowrail.formatters.guidance.as_xml import render as as_xml
from flowrail.machines.definition.command_line import words_of
from flowrail.machines.engine.advance import start
from flowrail.machines.engine.reviews import Recorded
from flowrail.machines.guidance.guide import command, guide
from flowrail.mcp.calls import call_of, in_calls, with_calls
from flowrail.text.safe_text import visible

STORE = "/srv/my project/.flow"
ID = "a-skill-abc234"


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        (
            f"flow step a-skill ok --session {ID} --expect 3",
            "step",
            {"skill": "a-skill", "outcome": "ok", "session": ID, "expect": 3},
        ),
        (
            f"flow step a/b done -s 'x=a b' -s y=[1] --session {ID}",
            "step",
            {"skill": "a/b", "outcome": "done", "facts": {"x": "a b", "y": "[1]"}, "session": ID},
        ),
        ("flow step a-skill", "step", {"skill": "a-skill"}),
        ("flow start a-skill -p topic='a=b'", "start", {"skill": "a-skill", "params": {"topic": "a=b"}}),
        (f"flow resume {ID} --store '{STORE}'", "step", {"session": ID}),
        (f"flow status {ID}", "status", {"session": ID}),
        (f"flow claim {ID} d0-1 --token t", "claim", {"session": ID, "dispatch": "d0-1", "token": "t"}),
        (
            f"flow finish {ID} d0-1 ok --token t",
            "finish",
            {"session": ID, "dispatch": "d0-1", "outcome": "ok", "token": "t"},
        ),
        (
            f"flow finish {ID} d0-1 --cancel --store '{STORE}'",
            "finish",
            {"session": ID, "dispatch": "d0-1", "cancel": True},
        ),
        (f"flow ask {ID} -", "ask", {"session": ID}),
        (f"flow ask {ID} - --token t", "ask", {"session": ID, "token": "t"}),
        (f"flow finding add {ID} --token t", "finding", {"session": ID, "token": "t"}),
        (
            f"flow answer {ID} go=Yes x=a x=b",
            "answer",
            {"session": ID, "answers": {"go": "Yes", "x": ["a", "b"]}},
        ),
        (f"flow finding add {ID}", "finding", {"session": ID}),
        (
            "flow handoff receive p.json --sha256 ab",
            "handoff",
            {"action": "receive", "file": "p.json", "sha256": "ab"},
        ),
        (f"flow handoff send x --session {ID}", "handoff", {"action": "send", "target": "x", "session": ID}),
        ("flow handoff cancel h-1", "handoff", {"action": "cancel", "handoff": "h-1"}),
    ],
)
def test_a_command_that_is_printed_has_its_call(line: str, tool: str, arguments: dict[str, object]) -> None:
    found = call_of(line, STORE)

    assert found is not None
    assert (found.tool, found.arguments) == (tool, arguments)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "flow step by step",
        "flow handoff diagram",
        "flow handoff targets x",
        "flow",
        "ls -l",
        "flow trust a-skill",
        "flow step",
        "flow step a ok b",
        f"flow resume {ID} --store /other",
        f"flow step a ok --session {ID} --expect x",
        "flow step a ok -s x",
        f"flow ask {ID} file.xml",
        f"flow answer {ID}",
        f"flow answer {ID} go",
        "flow finding list x",
        "flow claim x",
        "flow step 'a",
        "flow step a --facts f.json",
        f"flow status {ID} --json",
    ],
)
def test_what_is_no_such_command_has_none(line: str) -> None:
    assert call_of(line, STORE) is None


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r<`"), min_size=1, max_size=12).filter(
    lambda word: not word.startswith("-") and visible(word) == word
)
"""Values that a printed command shows: it is one line, and leaves one open of which anything hides."""


@given(
    st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True), WORDS, max_size=3), st.integers(0, 99)
)
def test_whatever_is_reported_the_call_says_the_same(facts: dict[str, str], revision: int) -> None:
    given_facts = [part for name, value in facts.items() for part in ("-s", f"{name}={value}")]
    line = command(
        "step", "a-skill", "done", *given_facts, "--session", ID, "--expect", str(revision), store=STORE
    )
    found = call_of(line, STORE)

    assert found is not None
    assert found.arguments.get("facts", {}) == facts
    assert found.arguments["expect"] == revision


@given(st.text(st.sampled_from(" ab'\"\\\n\t\u00e9\u00a0#$`;"), max_size=12))
def test_words_are_those_of_a_shell(command: str) -> None:
    try:
        expected: list[str] | None = shlex.split(command)
    except ValueError:
        expected = None

    try:
        words: list[str] | None = words_of(command)
    except ValueError:
        words = None

    assert words == expected


def test_a_word_of_a_million_characters_is_no_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shlex.shlex.read_token", _unexpected)  # takes eight seconds for it
    long = "a" * 1_000_000

    assert call_of(f"flow step small ok -s note={long}", "") == (
        "step",
        {"skill": "small", "outcome": "ok", "facts": {"note": long}},
    )


def _unexpected(_: object) -> object:
    raise AssertionError("it was read letter by letter")


def test_in_a_text_commands_become_calls_and_the_rest_stays() -> None:
    text = (
        f"Do it.\n<case>flow step a-skill ok --session {ID} -s &#x27;x=a &amp; b&#x27;</case>\n"
        f"`flow resume {ID}` goes on; myflow step x; flow step by step; see flow trust a-skill."
    )
    shown = in_calls(text, STORE, markup=True)

    assert '<case>step {"skill": "a-skill", "outcome": "ok", ' in shown
    assert '"facts": {"x": "a &amp; b"}' in shown
    assert f'`step {{"session": "{ID}"}}` goes on; myflow step x; ' in shown
    assert shown.endswith("see flow trust a-skill.")


def test_in_an_attribute_a_command_becomes_a_call_and_the_markup_stays_whole() -> None:
    where = STORE.replace(" ", "")
    text = f'<needs_user_input answer="flow answer {ID} q=OPTION --store {where}"><text>Which?</text></needs_user_input>'
    root = ET.fromstring(in_calls(text, where, markup=True))  # noqa: S314 - our own

    assert root.attrib["answer"] == f'answer {{"session": "{ID}", "answers": {{"q": "OPTION"}}}}'
    assert in_calls(text, "/other", markup=True) == text


@pytest.mark.parametrize(
    "said",
    [
        "flow resume a-bcdefg",
        f"a=flow answer {ID} q=1",
        "`flow handoff targets`",
        f"flow answer {ID} q='",
        f"flow status {ID} <x>",
    ],
)
def test_what_others_said_is_no_call_and_breaks_no_markup(said: str) -> None:
    assert_markup_holds(said)


MENTIONS = (
    "flow ",
    "step ",
    "resume ",
    "answer ",
    "a-bcdefg ",
    "q=",
    '"',
    "'",
    ">",
    "<",
    "`",
    "\n",
    "&quot;",
    "\\",
)


@given(st.lists(st.sampled_from(MENTIONS) | st.text(max_size=3), max_size=9).map("".join))
def test_whatever_others_said_the_markup_stays_whole(said: str) -> None:
    assert_markup_holds(said)


def assert_markup_holds(said: str) -> None:
    """Of a step that quotes *said* in its texts and attributes nothing but commands of ours is another."""
    flows = linear("a")
    guidance = guide(flows, start(flows), resumed=True)
    way = guidance.next[0]._replace(facts={"x": said}, command=f"flow step dull ok --session {ID} --expect 0")
    finding = Recorded("f1", "MUST", said, place=said)
    quoting = guidance._replace(
        params={"topic": said},
        actions=(said,),
        findings=(finding,),
        next=(way,),
        start_command=f"flow resume {ID}",
    )
    text = as_xml(quoting)

    before, after = (ET.fromstring(each) for each in (text, in_calls(text, STORE, markup=True)))  # noqa: S314 - our own

    for one, other in zip(before.iter(), after.iter(), strict=True):
        assert (one.tag, one.attrib, one.tail) == (other.tag, other.attrib, other.tail)
        if one.tag in {"case", "resumed"}:
            assert one.text != other.text
        elif one.tag != "current_action":
            assert one.text == other.text


def test_what_lists_sessions_skills_or_targets_has_its_call_where_it_is_named() -> None:
    text = "`flow sessions --all`, `flow sessions`, `flow list`, `flow show a/b`, `flow handoff targets`; a flow list"

    assert in_calls(text, STORE, markup=False) == (
        '`status {}`, `status {}`, `discover {}`, `discover {}`, `discover {"what": "targets"}`; a flow list'
    )


def test_what_others_called_a_command_gets_no_call() -> None:
    theirs = {"command": f"flow resume {ID}", "in": [{"then_command": f"flow status {ID}"}]}
    data = {"params": theirs, "handoff_payload": theirs, "dispatches": [{"vars": theirs, "item": theirs}]}

    assert with_calls(data, STORE) == data


def test_beside_every_command_in_data_stands_its_call() -> None:
    data = {
        "command": f"flow resume {ID}",
        "start_command": None,
        "finding_command": "x",
        "in": [{"command": "ls"}],
    }

    assert with_calls(data, STORE) == {
        "command": f"flow resume {ID}",
        "call": {"tool": "step", "arguments": {"session": ID}},
        "start_command": None,
        "finding_command": "x",
        "finding_call": None,
        "in": [{"command": "ls", "call": None}],
    }
