"""The blocks that a ``flow:`` fence can become: for each, its fields, its other lines, and the function that makes it.

A fence has ``name: value`` lines. Its other lines are items, cases (``result: what to do``), entries
(``NAME = VALUE``), text that may contain fences, or only fences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from flowrail.formatters.blocks import dispatch, instructions, plain_text, review, step
from flowrail.machines.definition.script_steps import BranchCommand, FlatCommand, NextCommand
from flowrail.machines.definition.step_parts import (
    DEFAULT_POLICY,
    POLICIES,
    AgentRole,
    GateConfig,
    Policy,
    QRState,
)
from flowrail.machines.engine.questions import QUESTION_RELAY_HANDLER, SUB_AGENT_QUESTION_FORMAT
from flowrail.text.safe_text import Markup, content

NOTHING, ITEMS, CASES, ENTRIES, TEXT, BLOCKS = "nothing", "items", "cases", "entries", "text", "blocks"
NUMBERS = frozenset({"step", "total", "limit", "work_step", "pass_step"})
FLAGS = frozenset({"failed", "fresh", "free_form", "mandate", "self_fix"})
LONGEST_QUOTE = 40
_ENTRY = re.compile(r"([^=\n]*[^=\s])\s*=\s*(.+)\Z", re.DOTALL)


class FenceBody(NamedTuple):
    """The lines of a fence with their placeholders filled: named fields, and the other lines."""

    fields: Mapping[str, str]
    items: Sequence[str] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return the value of a field, or *default*."""
        return self.fields.get(name) or default

    def maybe(self, name: str) -> str | None:
        """Return the value of a field, or `None`."""
        return self.fields.get(name) or None

    def number(self, name: str) -> int:
        """Return the value of a field as a number."""
        return int(self.fields[name])

    def maybe_number(self, name: str) -> int | None:
        """Return the value of a field as a number, or `None`."""
        return int(self.fields[name]) if self.fields.get(name) else None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return the value of a field as a boolean."""
        return self.fields[name] == "true" if self.fields.get(name) else default

    def entries(self) -> dict[str, str]:
        """Return the other lines as entries; `ValueError` if one is not an entry."""
        return dict(entry(item) for item in self.items)


class FenceType(NamedTuple):
    """How a fence becomes a block: ``make`` gets its body, and raises `ValueError` if values do not fit.

    ``numbers`` are fields with whole numbers besides `NUMBERS`; ``problem`` checks fields against each other.
    """

    make: Callable[[FenceBody], str]
    lines: str = NOTHING
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    at_least: int = 0
    numbers: tuple[str, ...] = ()
    problem: Callable[[Mapping[str, str]], str | None] = lambda _: None

    @property
    def names(self) -> frozenset[str]:
        """All fields."""
        return frozenset({*self.required, *self.optional})

    def is_number(self, name: str) -> bool:
        """Return whether a field holds a whole number."""
        return name in NUMBERS or name in self.numbers


def entry(item: str) -> tuple[str, str]:
    """Return the two parts of ``NAME = VALUE``; `ValueError` for any other item."""
    found = _ENTRY.match(item)
    if found is None:
        raise ValueError(f"expected `NAME = VALUE`, found `{item[:LONGEST_QUOTE]}`")
    return found.group(1).strip(), found.group(2)


def _both_branches(fields: Mapping[str, str]) -> str | None:
    passed, failed = bool(fields.get("if_pass")), bool(fields.get("if_fail"))
    if passed != failed:
        return "`if_pass:` and `if_fail:` belong together"
    return "`command:` does not go with `if_pass:`" if passed and fields.get("command") else None


def _some_command(fields: Mapping[str, str]) -> str | None:
    if not any(fields.get(name) for name in _COMMANDS):
        return "the line `command: …` is missing"
    return _both_branches(fields)


_VERDICTS = ("pass", "fail")


def _command(body: FenceBody) -> NextCommand:
    if body.get("if_pass"):
        return BranchCommand(body.get("if_pass"), body.get("if_fail"))
    return FlatCommand(body.get("command")) if body.get("command") else None


def _joined(pieces: Sequence[str]) -> Markup:
    return Markup("\n".join(content(piece) for piece in pieces))


def _state_banner(body: FenceBody) -> str:
    return instructions.format_state_banner(
        body.get("checkpoint"),
        body.get("iteration"),
        body.get("mode"),
        body.items,
        limit=body.maybe_number("limit"),
    )


# --- steps of scripts


def _step_header(body: FenceBody) -> str:
    return step.format_step_header(
        body.get("script"), body.number("step"), body.number("total"), body.get("title"), body.maybe("phase")
    )


def _step_output(body: FenceBody) -> str:
    return step.format_step_output(
        body.get("script"),
        body.number("step"),
        body.number("total"),
        body.get("title"),
        body.items,
        _command(body),
        body.maybe("phase"),
        gate_result=(body.get("status"), body.get("message")) if body.get("status") else None,
        mandate=body.flag("mandate"),
    )


# --- dispatches


def _subagent_dispatch(body: FenceBody) -> str:
    return dispatch.format_subagent_dispatch(
        body.get("agent"),
        body.get("script"),
        body.maybe_number("step") or 1,
        body.maybe_number("total"),
        body.entries(),
        free_form=body.flag("free_form"),
        command=body.get("command"),
        model=body.maybe("model"),
    )


def _template_dispatch(body: FenceBody) -> str:
    return dispatch.format_template_dispatch(
        body.get("agent"),
        body.get("template"),
        [dict(entry(line.strip()) for line in item.splitlines()) for item in body.items],
        join=body.get("join", "all"),
        model=body.maybe("model"),
    )


def _roster_dispatch(body: FenceBody) -> str:
    return dispatch.format_roster_dispatch(
        body.get("agent"),
        body.get("context"),
        body.entries(),
        join=body.get("join", "all"),
        model=body.maybe("model"),
    )


def _conditional_dispatch(body: FenceBody) -> str:
    return dispatch.format_conditional_dispatch(body.get("when"), _joined(body.items), body.get("otherwise"))


# --- reviews


def _qr(body: FenceBody) -> QRState:
    return QRState(body.number("iteration"), body.flag("failed"), body.maybe("status"))


def _gate(body: FenceBody) -> tuple[GateConfig, int, Policy]:
    policy, target = body.get("policy", DEFAULT_POLICY.name), body.get("fix_target")
    if policy not in POLICIES:
        raise ValueError(f"unknown policy `{policy[:40]}`")
    gate = GateConfig(
        body.get("name"),
        body.number("work_step"),
        body.maybe_number("pass_step"),
        body.get("pass_message"),
        body.flag("self_fix"),
        AgentRole(target) if target else None,
    )
    return gate, body.maybe_number("limit") or review.LIMIT, POLICIES[policy]


def _gate_actions(body: FenceBody) -> str:
    gate, limit, policy = _gate(body)
    return _joined(review.format_gate_actions(_qr(body), gate, limit=limit, policy=policy))


def _gate_step(body: FenceBody) -> str:
    gate, limit, policy = _gate(body)
    return review.format_gate_step(
        body.get("script"),
        body.number("step"),
        body.number("total"),
        body.get("title"),
        _qr(body),
        gate,
        body.maybe("phase"),
        limit=limit,
        policy=policy,
    )


def _qr_banner(body: FenceBody) -> str:
    fresh = body.flag("fresh", default=True)
    return review.format_qr_banner(_qr(body), body.get("name"), fresh_review=fresh)


def _post_qr_routing(body: FenceBody) -> str:
    return review.format_post_qr_routing(self_fix=body.flag("self_fix"), fix_target=body.maybe("fix_target"))


def _qr_file_output(body: FenceBody) -> str:
    status = body.get("status")
    if status not in _VERDICTS:
        raise ValueError("`status` must be pass or fail")
    return review.format_qr_file_output(status == "pass", body.maybe("report"), body.get("command"))


# --- text


def _text_step_header(body: FenceBody) -> str:
    return plain_text.format_text_step_header(body.number("step"), body.number("total"), body.get("title"))


def _text_output(body: FenceBody) -> str:
    about = body.number("step"), body.number("total"), body.get("title")
    return plain_text.format_text_output(*about, body.items, body.get("brief"), body.maybe("next_title"))


def _step(body: FenceBody) -> str:
    return plain_text.format_step("\n".join(body.items), body.get("command"), body.get("title"))


def _invoke_command(body: FenceBody) -> str:
    qr = _qr(body) if body.get("iteration") else None
    return plain_text.format_invoke_command(
        body.get("script"), body.number("step"), body.maybe_number("total"), qr=qr
    )


_COMMANDS = ("command", "if_pass", "if_fail")
_STEP = ("script", "step", "total", "title")
_QR = ("iteration", "failed", "status")
_ROUND = ("iteration",)
_GATE = ("name", "work_step", "iteration")
_GATE_OPTIONS = ("failed", "status", "pass_step", "pass_message", "self_fix", "fix_target", "limit", "policy")

FENCES: Mapping[str, FenceType] = {
    "resource": FenceType(lambda _: "", ITEMS, at_least=1),  # `fences` makes it, one block per item
    "forbidden": FenceType(lambda body: instructions.format_forbidden(body.items), ITEMS, at_least=1),
    "expected_output": FenceType(
        lambda body: instructions.format_expected_output(body.items), ITEMS, at_least=1
    ),
    "incorrect_behavior": FenceType(
        lambda body: instructions.format_incorrect_behavior(body.items, body.get("consequence")),
        ITEMS,
        optional=("consequence",),
        at_least=1,
    ),
    "detection_questions": FenceType(
        lambda body: instructions.format_detection_questions(body.items, body.maybe("category")),
        ITEMS,
        optional=("category",),
        at_least=1,
    ),
    "verification_checklist": FenceType(
        lambda body: instructions.format_verification_checklist(body.items, body.maybe("name")),
        ITEMS,
        optional=("name",),
        at_least=1,
    ),
    "state_banner": FenceType(_state_banner, ITEMS, ("checkpoint", "iteration", "mode"), ("limit",)),
    "routing": FenceType(lambda body: instructions.format_routing(body.fields), CASES),
    "open_question_guidance": FenceType(lambda _: instructions.format_open_question_guidance()),
    "factored_verification_rationale": FenceType(
        lambda _: instructions.format_factored_verification_rationale()
    ),
    "step_header": FenceType(_step_header, NOTHING, _STEP, ("phase",)),
    "current_action": FenceType(lambda body: step.format_current_action(body.items), TEXT, at_least=1),
    "invoke_after": FenceType(
        lambda body: step.format_invoke_after(_command(body)), optional=_COMMANDS, problem=_some_command
    ),
    "next_block": FenceType(
        lambda body: step.format_next_block(_command(body)), optional=_COMMANDS, problem=_some_command
    ),
    "gate_result": FenceType(
        lambda body: step.format_gate_result(body.get("status"), body.get("message")),
        NOTHING,
        ("status", "message"),
    ),
    "xml_mandate": FenceType(lambda _: step.format_xml_mandate()),
    "step_output": FenceType(
        _step_output,
        TEXT,
        _STEP,
        ("phase", *_COMMANDS, "status", "message", "mandate"),
        at_least=1,
        problem=_both_branches,
    ),
    "subagent_dispatch": FenceType(
        _subagent_dispatch,
        ENTRIES,
        ("agent",),
        ("script", "step", "total", "command", "model", "free_form"),
    ),
    "model_selection": FenceType(
        lambda body: dispatch.format_model_selection(body.get("model"), body.get("reason")),
        NOTHING,
        ("model",),
        ("reason",),
    ),
    "parallel_dispatch": FenceType(
        lambda body: dispatch.format_parallel_dispatch(body.items, body.get("join", "all")),
        BLOCKS,
        optional=("join",),
        at_least=1,
    ),
    "template_dispatch": FenceType(
        _template_dispatch, ITEMS, ("agent", "template"), ("join", "model"), at_least=1
    ),
    "roster_dispatch": FenceType(
        _roster_dispatch, ENTRIES, ("agent", "context"), ("join", "model"), at_least=1
    ),
    "conditional_dispatch": FenceType(_conditional_dispatch, BLOCKS, ("when",), ("otherwise",), at_least=1),
    "orchestrator_constraint": FenceType(lambda _: dispatch.format_orchestrator_constraint()),
    "qr_banner": FenceType(
        _qr_banner, NOTHING, ("name", "iteration"), ("failed", "status", "fresh"), numbers=_ROUND
    ),
    "gate_actions": FenceType(_gate_actions, NOTHING, _GATE, _GATE_OPTIONS, numbers=_ROUND),
    "gate_step": FenceType(_gate_step, NOTHING, (*_STEP, *_GATE), ("phase", *_GATE_OPTIONS), numbers=_ROUND),
    "post_qr_routing": FenceType(_post_qr_routing, optional=("self_fix", "fix_target")),
    "qr_file_output": FenceType(_qr_file_output, NOTHING, ("status",), ("report", "command")),
    "text_step_header": FenceType(_text_step_header, NOTHING, ("step", "total", "title")),
    "text_output": FenceType(
        _text_output, TEXT, ("step", "total", "title"), ("brief", "next_title"), at_least=1
    ),
    "step": FenceType(_step, TEXT, optional=("command", "title"), at_least=1),
    "invoke_command": FenceType(
        _invoke_command, NOTHING, ("script", "step"), ("total", *_QR), numbers=_ROUND
    ),
    "question_format": FenceType(lambda _: SUB_AGENT_QUESTION_FORMAT),
    "question_relay": FenceType(lambda _: QUESTION_RELAY_HANDLER),
}
