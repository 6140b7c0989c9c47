"""Blocks of a step's instructions: expected results, forbidden actions, checks, resources.

Each function is pure and returns `Markup`, for use among plain strings in a step's actions. It escapes plain text; a
block inside a block is not escaped again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowrail.text.safe_text import Markup, block, element, listing


def format_state_banner(
    checkpoint: str,
    iteration: int | str,
    mode: str,
    explanation: Sequence[str] = (),
    *,
    limit: int | None = None,
) -> Markup:
    """Return the state of a loop: its name, the attempt and its limit, and the purpose of this attempt."""
    head = {"checkpoint": checkpoint, "iteration": iteration, "limit": limit, "mode": mode}
    return block("state_banner", explanation, **head) if explanation else element("state_banner", "", **head)


def format_expected_output(items: Sequence[str]) -> Markup:
    """Return the parts of the step's result, which the agent checks before it reports."""
    return listing("expected_output", "item", items)


def format_forbidden(actions: Sequence[str]) -> Markup:
    """Return forbidden actions."""
    return listing("forbidden", "action", actions)


def format_incorrect_behavior(examples: Sequence[str], consequence: str = "") -> Markup:
    """Return examples of incorrect behaviour, and their consequence.

    A wrong example beside the instruction prevents more errors than the instruction alone: contrastive
    demonstrations, Chia et al. 2023.
    """
    lines = [element("example", example) for example in examples]
    if consequence:
        lines.append(element("consequence", consequence))
    return block("incorrect_behavior", lines)


def format_routing(cases: Mapping[str, str]) -> Markup:
    """Return what to do for each result."""
    return block("routing", [element("case", action, result=result) for result, action in cases.items()])


def format_resource(name: str, text: str, purpose: str | None = None) -> Markup:
    """Return a text that the step needs, quoted in full, so that the agent cannot skip or misremember it."""
    return block("resource", [text], name=name, purpose=purpose)


def format_detection_questions(questions: Sequence[str], category: str | None = None) -> Markup:
    """Return numbered questions that find one kind of problem, to be answered one by one.

    Short questions are answered better separately than as one large question: factored chain of verification,
    Dhuliawala et al. 2023.
    """
    lines = [element("question", text, n=number) for number, text in enumerate(questions, 1)]
    return block("detection_questions", lines, category=category)


def format_verification_checklist(checks: Sequence[str], name: str | None = None) -> Markup:
    """Return numbered checks, so that each can be answered by its number."""
    lines = [element("check", text, n=number) for number, text in enumerate(checks, 1)]
    return block("verification_checklist", lines, name=name)


def format_factored_verification_rationale() -> Markup:
    """Return how to check claims one by one without looking at the draft, and why.

    Chain of verification, Dhuliawala et al. 2023: a model that sees its draft while it checks repeats the draft's
    errors. Answering each check separately, without the draft, repeats fewer.
    """
    lines = (
        (
            "Check one claim at a time, without looking at the draft or at your other answers. If you read "
            "the draft while you check, you tend to confirm it."
        ),
        "1. From the criteria alone, write down what you expect to find.",
        "2. Look at the place itself, and quote what it contains.",
        "3. Compare the two. Each difference is a finding. A place that you did not look at is not checked.",
    )
    return block("factored_verification", lines)


def format_open_question_guidance() -> Markup:
    """Return how to phrase questions in a check: as open questions, never as yes or no.

    Chain of verification, Dhuliawala et al. 2023: models tend to agree with a yes-or-no question, right or wrong.
    They answer an open question from facts.
    """
    lines = (
        "Ask open questions. The answer to a yes-or-no question is usually yes.",
        element("instead_of", "Are errors handled here?"),
        element("ask", "What happens to an error here, starting from the line that raises it?"),
        "Quote the relevant lines and their place before you judge.",
    )
    return block("open_question_guidance", lines)
