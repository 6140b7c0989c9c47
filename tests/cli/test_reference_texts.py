"""A long reference text is printed to a conversation once, if the hook of the conversation ran."""

from __future__ import annotations

import pytest
from support.hooks import A, B, claude_code, conversation, hook
from support.sandbox import flow, put_skill, refused, told

QUOTING = """\
name: NAME
steps:
  - {id: first, title: First, next: {ok: second}}
  - {id: second, title: Second, next: {ok: third}}
  - {id: third, title: Third, next: {ok: null}}
"""
FORMAT = ("The format has sections. " * 60).strip()
TEXTS = {
    **{
        f"steps/{name}.md": f"Do the {name}.\n\n```flow:resource\nformat\n```\n"
        for name in ("first", "second")
    },
    "steps/third.md": "Do the third.\n\n```flow:resource\nformat\nshort\n```\n",
    "resources/format.md": FORMAT,
    "resources/short.md": "A short text.",
}
AGAIN = "flow show quoting --resource format (printed earlier in this conversation)"


@pytest.fixture(autouse=True)
def quoting() -> None:
    put_skill("quoting", QUOTING, texts=TEXTS)
    told("start", "quoting")  # this user has a state folder


def begin(session: str = A, source: str = "startup") -> None:
    hook("session-start", claude_code("session-start", session, source=source))


def step(*words: str, session: str = A) -> str:
    with conversation(session):
        return flow("step", "quoting", *words, "--format", "xml").out


def test_a_long_reference_text_is_printed_once_in_a_conversation() -> None:
    begin()

    first, second, third = step(), step("ok"), step("ok")

    assert FORMAT in first
    assert FORMAT not in second
    assert AGAIN in second
    assert "Do the second." in second
    assert "A short text." in third
    assert FORMAT not in third


def test_after_a_compaction_and_in_another_conversation_it_is_printed_again() -> None:
    begin()
    step()
    begin(source="compact")

    assert FORMAT in step("ok")
    begin(B)
    with conversation(B):
        assert FORMAT in flow("start", "quoting", "--format", "xml").out


def test_without_the_hook_it_is_always_printed() -> None:
    step()

    assert FORMAT in step("ok")


def test_a_resumed_step_and_data_have_it_always() -> None:
    begin()
    step()
    step("ok")

    with conversation(A):
        assert FORMAT in flow("resume", "--format", "xml").out
        assert FORMAT in step()
        assert FORMAT in told("step", "quoting", "ok")["actions"][0]


def test_the_text_can_be_printed_by_its_name() -> None:
    assert flow("show", "quoting", "--resource", "format").out == f"{FORMAT}\n"
    assert told("show", "quoting", "--resource", "short") == {"resource": "short", "text": "A short text."}
    status, error = refused("show", "quoting", "--resource", "fromat")
    assert (status, error["code"]) == (2, "UNKNOWN_RESOURCE")
    assert "`format`" in error["hint"]
