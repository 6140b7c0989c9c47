"""Commands as values: the line to type, and hints that contain them."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from flowrail.command import Command, Hint


def test_a_command_is_printed_as_the_line_to_type() -> None:
    command = Command(
        "session migrate", "planner-k3x9q2", map={"gate": "check"}, accept=True, store="/tmp/a b"
    )

    assert str(command) == "flow session migrate planner-k3x9q2 --map gate=check --accept --store '/tmp/a b'"


def test_answers_are_arguments_and_facts_are_options() -> None:
    answer = Command("answer", "planner-k3x9q2", answers={"go": ("Yes", "Later")}, reason="as agreed")
    report = Command("step", "planner", "done", facts={"areas": ["a", "b"], "sure": True, "n": 2}, expect=0)

    assert str(answer) == "flow answer planner-k3x9q2 go=Yes go=Later --reason 'as agreed'"
    assert shlex.split(str(report))[4:] == [
        "-s", 'areas=["a", "b"]', "-s", "sure=true", "-s", "n=2", "--expect", "0",
    ]  # fmt: skip


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text(), max_size=4), st.text(min_size=1)
)
def test_a_printed_command_is_one_line_and_a_shell_reads_its_words(facts: dict[str, str], store: str) -> None:
    command = Command("step", "planner", "ok", facts=facts, store=store)

    assert str(command).isprintable()
    assert tuple(shlex.split(str(command))) == command.words


def test_a_hint_shows_its_commands_as_the_interface_does() -> None:
    hint = Hint(
        "see all: ",
        Command("sessions", all=True),
        "; or ",
        Hint("start: ", Command("step", "planner", new=True)),
    )

    assert str(hint) == "see all: flow sessions --all; or start: flow step planner --new"
    assert hint.render(lambda command: command.verb.upper()) == "see all: SESSIONS; or start: STEP"


def test_a_hint_names_the_store_in_each_command_that_uses_one() -> None:
    named = Command("resume", "planner-k3x9q2", store="/mine")

    hint = Hint(Command("step", "planner", new=True), Command("list"), named).with_store(
        "/other", {"step", "resume"}
    )

    assert [part.store for part in hint.parts if isinstance(part, Command)] == ["/other", None, "/mine"]
