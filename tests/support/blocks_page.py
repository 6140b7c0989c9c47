"""The reference page of blocks: each with its call and its output."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from support.blocks import SAMPLES, TEXT_SAMPLES

import flowrail
from flowrail.machines.definition.step_parts import Policy

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
        "For scripts that print their own steps. `flow step` prints its own frame.",
    ),
    "Content of a step": (
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
        "For the instructions of any step.",
    ),
    "Dispatches": (
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
            "For scripts, and for work that needs no record. A step with a `dispatch` prints its own commands: "
            "[Dispatch sub-agents](../how-to/fan-out.md)."
        ),
    ),
    "Reviews": (
        ("qr_banner", "post_qr_routing", "qr_file_output", "gate_actions", "gate_step"),
        (
            "For scripts. A review gate in a workflow prints its banner and its round by itself: "
            "[Review in a loop](../how-to/review-loop.md)."
        ),
    ),
    "Plain text": (
        ("text_step_header", "text_output", "step", "invoke_command"),
        "For output without XML. These functions return a plain string.",
    ),
}
TEXTS = {
    "question_format": ("SUB_AGENT_QUESTION_FORMAT", "For sub-agents."),
    "question_relay": ("QUESTION_RELAY_HANDLER", "For the agent that launches sub-agents."),
}
HEAD = """\
# Blocks

<!-- made by tests/formatters/test_blocks_page.py: FLOWRAIL_GOLDEN=write -->

After reading this page you can use blocks in the instructions of a step. A block is a formatted part of them, such as
a list of forbidden actions. Each block is a pure function, such as `from flowrail import format_forbidden`.

The functions return `Markup`, which can be mixed with plain strings in `actions`. Plain text in a block is escaped,
including characters that hide, reorder or end a line, so the output is always well-formed XML. A block inside a block
is not escaped again. The same call returns the same bytes, which helps prompt caches.

## In Markdown

In the Markdown of a step, these blocks can be written as fences: `resource`, `forbidden`, `expected_output`,
`incorrect_behavior`, `detection_questions` and `verification_checklist`. Everything else that a script would print,
`flow step` prints by itself.

````markdown
```flow:forbidden
- Changing a test until it passes
```
````

Each line is an item. A line that is indented further continues the previous item. `flow:resource` quotes the
resources that its items name. A fence that cannot become a block remains text, and `flow check` reports it (FR152).

[What research shaped in the blocks](../explanation/research.md) explains the wording of some blocks.
"""


def page() -> str:
    """Return the reference page of blocks."""
    parts = [HEAD]
    for title, (names, about) in GROUPS.items():
        parts.append(f"## {title}\n\n{about}\n")
        parts += [_shown(name) for name in names]
    parts.append(
        "## Questions from sub-agents\n\nTwo constants of `flowrail`. A step with dispatches prints the second, the first "
        "step of each sub-agent prints the first: [Ask the user](../how-to/ask-the-user.md).\n"
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
    for each in (each for each in everything if each.partition(".")[0] == name):
        kind = "xml" if each in SAMPLES else "text"
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
