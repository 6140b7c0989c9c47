"""Questions are parsed strictly, can be read back after they are written, and are explained with a valid example."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowrail.formatters.blocks.question_block import as_xml
from flowrail.machines.asked_questions import SUB_AGENT_QUESTION_FORMAT
from flowrail.machines.question import Option, Question
from flowrail.machines.question_input import QuestionsError, parse_questions, problems_of_asked
from flowrail.operations.steps.user_questions import _from_agent
from flowrail.text.safe_text import visible

BLOCK = """\
<needs_user_input>
<question id="go" header="Approve">
<text>Go on?</text>
<option label="Yes">Go on</option>
<option label="No">Stop here</option>
</question>
</needs_user_input>
"""


def refused(text: str) -> str:
    """Return the reported problem."""
    with pytest.raises(QuestionsError) as caught:
        parse_questions(text, source="ask.xml")
    return caught.value.fact


# --- round trips

SIGNS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))
ODD = st.sampled_from(["]]>", "&amp;", "<b>", '"', "'", "\u200b", "\u202e", "\xa0", "\u3164", "\U0001f600"])
LINES = st.lists(ODD | st.text(SIGNS, max_size=4), min_size=1, max_size=3).map("".join)


def one_line(longest: int) -> st.SearchStrategy[str]:
    """Return texts of one line that a question may hold."""
    return LINES.map(lambda text: text.strip()[:longest].strip()).filter(bool)


LABELS = one_line(60).filter(lambda label: not label.casefold().startswith("other:"))
OPTIONS = st.builds(
    lambda labels, about: tuple(map(Option, labels, about)),
    st.lists(LABELS, min_size=2, max_size=3, unique_by=str.casefold),
    st.lists(one_line(500) | st.just("") | st.just("a\n\tb"), min_size=3, max_size=3),
)


@st.composite
def _questions(draw: st.DrawFn) -> Question:
    options = draw(OPTIONS | st.just(()))
    text = draw(st.lists(one_line(100), min_size=1, max_size=3).map("\n\t".join))
    return Question(
        draw(st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True)),
        draw(one_line(12)),
        text,
        options,
        draw(st.booleans()),
    )


ASKED = st.lists(
    _questions(),
    min_size=1,
    max_size=3,
    unique_by=(lambda question: question.id, lambda question: question.text),
).map(tuple)


@settings(max_examples=30)
@given(ASKED, st.sampled_from(["", "\n\n  "]))
def test_a_block_gives_back_the_questions_that_it_was_made_of(
    questions: tuple[Question, ...], around: str
) -> None:
    block = as_xml([_from_agent(question, ()) for question in questions])

    assert parse_questions(f"{around}{block}{around}", source="x") == questions
    assert visible(block) == block


# --- what agents are told


def test_the_format_shows_a_block_that_would_be_taken() -> None:
    start, end = (
        SUB_AGENT_QUESTION_FORMAT.index(f"<{tag}>") for tag in ("needs_user_input", "/question_format")
    )

    (asked,) = parse_questions(SUB_AGENT_QUESTION_FORMAT[start:end], source="format")

    assert asked.id == "cache"
    assert [option.label for option in asked.options] == ["In memory", "Redis"]


# --- the block, read


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "neither a needs_user_input block nor JSON"),
        (f"Sure!\n{BLOCK}", "neither a needs_user_input block nor JSON"),
        (f"{BLOCK}Thanks", "not well-formed XML: junk after document element: line 8, column 0"),
        (BLOCK.replace("Go on?", "&nbsp;"), "not well-formed XML: undefined entity: line 3, column 6"),
        (BLOCK.replace("needs_user_input", "questions"), "`questions` is used instead of needs_user_input"),
        (
            f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>{BLOCK}',
            "a document type is not allowed here",
        ),
        (f"<{'a' * 65_536}>", "more than 65536 bytes"),
        (BLOCK.replace("<text>", "<note/><text>"), "element `note` is not allowed here, or contains others"),
        (BLOCK.replace("header=", "heading="), "question 1, `heading` is not a known key"),
        ("[]", "a question is missing"),
        ('{"questions": {}}', "`questions` is not a list"),
        ("[1]", "question 1 must be a mapping"),
        ('[{"text": []}]', "question 1, `text` must be text"),
        ('[{"text": "A?", "options": ["Yes"]}]', "question 1, options are 1; there must be 2 or 3"),
    ],
)
def test_a_block_is_taken_alone_and_plain_or_not_at_all(text: str, problem: str) -> None:
    assert refused(text) == problem


HOSTILE = {
    "nested in a text": BLOCK.replace("Go on?", "<a>" * 9_000 + "</a>" * 9_000),
    "many questions": f"<needs_user_input>{'<question/>' * 5_900}</needs_user_input>",
    "many attributes": f"<needs_user_input {' '.join(f'a{n}=' + chr(39) * 2 for n in range(6_000))}/>",
    "nested lists": "[" * 65_000,
    "many keys": '{"questions": [{' + ",".join(f'"k{n}": 1' for n in range(6_000)) + "}]}",
    "a long number": f"[{'9' * 60_000}]",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_shortly(name: str) -> None:
    with pytest.raises(QuestionsError) as caught:
        parse_questions(HOSTILE[name], source="ask")

    assert len(str(caught.value)) < 5_000


@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "<needs_user_input>",
                    "</needs_user_input>",
                    '<question id="go" header="A">',
                    "</question>",
                ),
                *(
                    "<text>",
                    "</text>",
                    '<option label="Yes">',
                    "</option>",
                    "<!--",
                    "-->",
                    "<![CDATA[",
                    "]]>",
                ),
                *("&amp;", "&x;", '{"questions": [', '{"id": "a"', "]", "}", ", ", "[", "1", "null", "\x00"),
            ]
        )
        | st.text(max_size=3),
        max_size=12,
    ).map("".join)
)
def test_any_text_gives_questions_or_a_refusal(text: str) -> None:
    with suppress(QuestionsError):
        assert problems_of_asked(parse_questions(text, source="ask")) == []


# --- JSON, read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"question": "Which store?"}', Question("q1", "", "Which store?")),
        (
            '[{"text": "Which store?", "options": ["Redis", "Files"]}]',
            Question("q1", "", "Which store?", (Option("Redis"), Option("Files"))),
        ),
        (
            '{"questions": [{"id": "db", "question": "Which?", "multiSelect": true, "options": ["A", {"label": "B"}]}]}',
            Question("db", "", "Which?", (Option("A"), Option("B")), multi=True),
        ),
        (
            "<needs_user_input><question><text>Which store?</text></question></needs_user_input>",
            Question("q1", "", "Which store?"),
        ),
    ],
)
def test_questions_are_read_as_agents_type_them(text: str, expected: Question) -> None:
    assert parse_questions(text, source="x") == (expected,)
