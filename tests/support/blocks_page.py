"""The reference page of blocks: each with its call, its fence, and what comes of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from support.blocks import SAMPLES, TEXT_SAMPLES
from support.fences import FENCES

import flowrail
from flowrail.machines.definition.gates import Policy

GROUPS = {
    "The frame of a step": (
        (
            "step_header",
            "current_action",
            "invoke_after",
            "next_block",
            "gate_result",
            "xml_mandate",
            "step_output",
        ),
        "A script that prints its own steps puts these around them. `flow step` prints a frame of its own.",
    ),
    "What a step tells": (
        (
            "state_banner",
            "expected_output",
            "forbidden",
            "incorrect_behavior",
            "routing",
            "resource",
            "detection_questions",
            "verification_checklist",
            "factored_verification_rationale",
            "open_question_guidance",
        ),
        "Used in the text of any step.",
    ),
    "Work for agents": (
        (
            "subagent_dispatch",
            "model_selection",
            "parallel_dispatch",
            "template_dispatch",
            "roster_dispatch",
            "conditional_dispatch",
            "orchestrator_constraint",
        ),
        (
            "For scripts, and for work that needs no record. A step with a `dispatch` prints its own launches: "
            "[Give work to many agents](../how-to/fan-out.md)."
        ),
    ),
    "Reviews": (
        ("qr_banner", "post_qr_routing", "qr_file_output", "gate_actions", "gate_step"),
        (
            "For scripts. A `gate` of a workflow prints its banner, its stop condition and its round by itself: "
            "[Have work reviewed until it holds](../how-to/review-loop.md)."
        ),
    ),
    "Plain text": (
        ("text_step_header", "text_output", "step", "invoke_command"),
        "For those who do not need XML. These return a plain string.",
    ),
}
TEXTS = {
    "question_format": ("SUB_AGENT_QUESTION_FORMAT", "Told to an agent that another one launches."),
    "question_relay": ("QUESTION_RELAY_HANDLER", "Told to the agent that launches others."),
}
HEAD = """\
# Blocks

<!-- made by tests/formatters/test_blocks_page.py: FLOWRAIL_GOLDEN=write -->

A block is a piece of what a step tells: a list of what is forbidden, a banner of where a loop stands, the
launch of an agent. Each is a pure function, `from flowrail import format_forbidden`, and each is a fence that
a step's Markdown may hold:

````markdown
```flow:forbidden
- Changing a test until it passes
```
````

Functions return `Markup`, to be put among plain strings in a step's `actions`. Plain text in a block is
escaped, and so is everything that hides, reorders or ends a line: whatever goes in, the output is well-formed
XML. A block in a block is not escaped again. The same call gives the same bytes, so a prompt cache holds.

In a fence, `name: value` lines are arguments, lines beginning with `- ` are items, and a line indented further
goes on with the item before. Where the block takes a mapping, its lines are `NAME = VALUE`. A block that holds
others has a fence with a longer mark than theirs, its `name: value` lines in front. `$name` is filled as
everywhere, `$$` is a dollar. A fence that cannot become its block stays text, and `flow check` says why (FR152).

Why some of them say what they say: [What research shaped in the blocks](../explanation/research.md).
"""


def page() -> str:
    """Return the reference page of blocks."""
    parts = [HEAD]
    for title, (names, about) in GROUPS.items():
        parts.append(f"## {title}\n\n{about}\n")
        parts += [_shown(name) for name in names]
    parts.append(
        "## Questions of agents\n\nTwo texts, constants of `flowrail`. Each step that gives work to agents tells "
        "the one, each agent's first step the other: [Ask the user](../how-to/ask-the-user.md).\n"
    )
    for name, (constant, about) in TEXTS.items():
        parts.append(f"### {name}\n\n`{constant}`. {about}\n")
        parts += list(_samples(name))
    return "\n".join(parts)


def _shown(name: str) -> str:
    function = getattr(flowrail, f"format_{name}")
    about = (inspect.getdoc(function) or "").replace("``", "`")
    return "\n".join([f"### {name}\n\n```text\n{_signature(function)}\n```\n\n{about}\n", *_samples(name)])


def _samples(name: str) -> Iterator[str]:
    everything = {**SAMPLES, **TEXT_SAMPLES}
    own = [each for each in everything if each.partition(".")[0] == name]
    shown = [each for each in own if each in FENCES] or own
    for each in shown:
        kind = "xml" if each in SAMPLES else "text"
        if each in FENCES:
            yield f"`````markdown\n{FENCES[each]}\n`````\n\nbecomes\n"
        yield f"```{kind}\n{everything[each]()}\n```\n"


def _signature(function: Callable[..., object]) -> str:
    """Return a signature as it is written, on lines of their own where it is long."""
    signature = inspect.signature(function)
    defaults = {name: _default(each.default) for name, each in signature.parameters.items()}
    parts: list[str] = []
    for name, each in signature.parameters.items():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        given = "" if each.default is inspect.Parameter.empty else f" = {defaults[name]}"
        parts.append(f"{name}: {each.annotation}{given}")
    line = f"{function.__name__}({', '.join(parts)}) -> {signature.return_annotation}"
    if len(line) <= 100:
        return line
    inside = "".join(f"    {part},\n" for part in parts)
    return f"{function.__name__}(\n{inside}) -> {signature.return_annotation}"


def _default(value: object) -> str:
    return "DEFAULT_POLICY" if isinstance(value, Policy) else repr(value)
