"""Questions to the user: while one is open nothing is reported, and the answer decides."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.workflows import NOW, step, workflow, yes_no

from flowrail.machines import asked_questions
from flowrail.machines.question import Option
from flowrail.machines.session import AskedQuestion
from flowrail.machines.transition import start
from flowrail.machines.values import Arg


def question(*outcomes: str | None, **parts: Any) -> AskedQuestion:
    """Return a question with an option for each of *outcomes*: A, B, C."""
    options = tuple(Option("ABC"[at], outcome=outcome) for at, outcome in enumerate(outcomes))
    return AskedQuestion(
        "go", "Go", "Go on?", options or (Option("A", outcome="ok"), Option("B", outcome="fail")), **parts
    )


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["", "other:", "Other: "]))
def test_labels_are_lines_that_stand_for_one_option_whatever_is_put_in(
    one: str, two: str, before: str
) -> None:
    options = (Option("$one", outcome="ok"), Option("$two", outcome="fail"), Option("same", outcome="ok"))
    asks = yes_no(options=options)
    flow = workflow(
        step("plan", questions=(asks,), next={"ok": "last", "fail": "plan"}, limit=3),
        step("last"),
        params={"one": Arg(default="a"), "two": Arg(default="b")},
    )

    (question,) = start(flow, {"one": f"{before}{one}", "two": two}, now=NOW).questions

    labels = [option.label for option in question.options]
    assert len({label.casefold() for label in labels}) == 3
    for label, option in zip(labels, options, strict=True):
        assert label.isprintable()
        assert 0 < len(label) <= 80
        answer = asked_questions.answer_question(question, [label], at=NOW, by="me")
        assert (answer.answer, answer.outcome) == ((label,), option.outcome)


# --- the outcome of an answer

OUTCOMES = st.sampled_from([None, "ok", "fail", "iterate"])


@given(st.lists(OUTCOMES, min_size=2, max_size=3), OUTCOMES, st.data())
def test_an_answer_has_the_outcome_of_its_options_and_anything_but_ok_counts_first(
    outcomes: list[str | None], other: str | None, data: st.DataObject
) -> None:
    asked = question(*outcomes, other=other, multi=True)
    words = data.draw(st.lists(st.sampled_from([*"ABC"[: len(outcomes)], "other:so"]), min_size=1))

    chosen = [outcome for label, outcome in zip("ABC", outcomes, strict=False) if label in words]
    if "other:so" in words:
        chosen += [other] if other else outcomes
    named = [outcome for outcome in chosen if outcome]
    expected = next((outcome for outcome in named if outcome != "ok"), named[0] if named else None)
    assert asked_questions.answer_question(asked, words, at=NOW, by="me").outcome == expected
