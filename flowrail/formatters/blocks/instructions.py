"""Blocks of what a step tells: what is expected, forbidden, to be checked, to be read.

Each is a pure function that returns `Markup`, to be put among plain strings in a step's actions.
Plain text in it is escaped; a block inside a block is not escaped again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowrail.formatters.blocks.elements import block, element, listing
from flowrail.text.markup import Markup


def format_state_banner(
    checkpoint: str,
    iteration: int | str,
    mode: str,
    explanation: Sequence[str] = (),
    *,
    limit: int | None = None,
) -> Markup:
    """Return where a loop stands: its name, the round, of how many, and what this round is for."""
    head = {"checkpoint": checkpoint, "iteration": iteration, "limit": limit, "mode": mode}
    return block("state_banner", explanation, **head) if explanation else element("state_banner", "", **head)


def format_expected_output(items: Sequence[str]) -> Markup:
    """Return what the step's result consists of; the agent compares before it reports."""
    return listing("expected_output", "item", items)


def format_forbidden(actions: Sequence[str]) -> Markup:
    """Return what must not be done."""
    return listing("forbidden", "action", actions)


def format_incorrect_behavior(examples: Sequence[str], consequence: str = "") -> Markup:
    """Return examples of doing it wrong, and what comes of it.

    A wrong example beside the instruction keeps from the mistake better than the instruction alone:
    contrastive demonstrations, Chia et al. 2023.
    """
    lines = [element("example", example) for example in examples]
    if consequence:
        lines.append(element("consequence", consequence))
    return block("incorrect_behavior", lines)


def format_routing(cases: Mapping[str, str]) -> Markup:
    """Return what to do for each result."""
    return block("routing", [element("case", action, result=result) for result, action in cases.items()])


def format_resource(name: str, text: str, purpose: str | None = None) -> Markup:
    """Return a text that the step needs, quoted whole.

    What is quoted where it is needed cannot be left unread or remembered wrongly.
    """
    return block("resource", [text], name=name, purpose=purpose)


def format_detection_questions(questions: Sequence[str], category: str | None = None) -> Markup:
    """Return questions that find a kind of mistake, numbered, to be answered one by one.

    Short questions answered apart from each other are answered better than one large one: chain of
    verification in its factored form, Dhuliawala et al. 2023.
    """
    lines = [element("question", text, n=number) for number, text in enumerate(questions, 1)]
    return block("detection_questions", lines, category=category)


def format_verification_checklist(checks: Sequence[str], name: str | None = None) -> Markup:
    """Return what is to be checked, numbered, so that each check can be answered by its number."""
    lines = [element("check", text, n=number) for number, text in enumerate(checks, 1)]
    return block("verification_checklist", lines, name=name)


def format_factored_verification_rationale() -> Markup:
    """Return why, and in which order, claims are checked one by one and without the draft in view.

    Chain of verification, Dhuliawala et al. 2023: a model that checks with its draft before it
    repeats the draft's mistakes; answering each check by itself, without it, repeats fewer.
    """
    lines = (
        (
            "Check one claim at a time, with neither the draft nor your other answers in view: "
            "who reads the draft while checking finds what it says."
        ),
        "1. From the criteria alone, write down what should be there.",
        "2. Then look at the place itself, and write down what is there, quoted.",
        "3. Then compare the two. Where they differ is a finding; where you did not look is not checked.",
    )
    return block("factored_verification", lines)


def format_open_question_guidance() -> Markup:
    """Return how to ask when checking: for what there is, never for yes or no.

    Chain of verification, Dhuliawala et al. 2023: asked for yes or no, models tend to agree with
    what the question says, right or wrong; an open question makes them answer from facts.
    """
    lines = (
        "Ask what there is, not whether it is in order: to yes or no, the answer is yes.",
        element("instead_of", "Are errors handled here?"),
        element("ask", "What happens to an error here, from the line that raises it on?"),
        "Answer with a quotation and its place before you judge.",
    )
    return block("open_question_guidance", lines)
