"""The ``flow:`` fences for scripts, agents and reviews; imported when one of them is met.

What a kind needs, `fence_kinds` has made sure of; `ValueError` where the values do not fit each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flowrail.formatters.blocks import (
    dispatch as block_dispatch,
)
from flowrail.formatters.blocks import (
    plain_text,
    review,
)
from flowrail.formatters.blocks import (
    step as block_step,
)
from flowrail.formatters.blocks.elements import content
from flowrail.formatters.blocks.fence_kinds import Body, entry
from flowrail.machines.definition.delegation import AgentRole
from flowrail.machines.definition.gates import (
    DEFAULT_POLICY,
    POLICIES,
    GateConfig,
    Policy,
    QRState,
)
from flowrail.machines.definition.script_steps import BranchCommand, FlatCommand, NextCommand
from flowrail.machines.guidance.question_relay import QUESTION_RELAY_HANDLER, SUB_AGENT_QUESTION_FORMAT
from flowrail.text.markup import Markup

_VERDICTS = ("pass", "fail")


def _command(body: Body) -> NextCommand:
    if body.get("if_pass"):
        return BranchCommand(body.get("if_pass"), body.get("if_fail"))
    return FlatCommand(body.get("command")) if body.get("command") else None


def _together(pieces: Sequence[str]) -> Markup:
    return Markup("\n".join(content(piece) for piece in pieces))


# --- the frame of a script's step


def _step_header(body: Body) -> str:
    step, total = body.number("step"), body.number("total")
    return block_step.format_step_header(
        body.get("script"), step, total, body.get("title"), body.maybe("phase")
    )


def _step_output(body: Body) -> str:
    return block_step.format_step_output(
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


# --- work for agents


def _subagent_dispatch(body: Body) -> str:
    return block_dispatch.format_subagent_dispatch(
        body.get("agent"),
        body.get("script"),
        body.maybe_number("step") or 1,
        body.maybe_number("total"),
        body.entries(),
        free_form=body.flag("free_form"),
        command=body.get("command"),
        model=body.maybe("model"),
    )


def _template_dispatch(body: Body) -> str:
    return block_dispatch.format_template_dispatch(
        body.get("agent"),
        body.get("template"),
        [dict(entry(line.strip()) for line in item.splitlines()) for item in body.items],
        join=body.get("join", "all"),
        model=body.maybe("model"),
    )


def _roster_dispatch(body: Body) -> str:
    return block_dispatch.format_roster_dispatch(
        body.get("agent"),
        body.get("context"),
        body.entries(),
        join=body.get("join", "all"),
        model=body.maybe("model"),
    )


def _conditional_dispatch(body: Body) -> str:
    dispatch = _together(body.items)
    return block_dispatch.format_conditional_dispatch(body.get("when"), dispatch, body.get("otherwise"))


# --- reviews


def _qr(body: Body) -> QRState:
    return QRState(body.number("iteration"), body.flag("failed"), body.maybe("status"))


def _gate(body: Body) -> tuple[GateConfig, int, Policy]:
    policy, target = body.get("policy", DEFAULT_POLICY.name), body.get("fix_target")
    if policy not in POLICIES:
        raise ValueError(f"`{policy[:40]}` is no policy")
    gate = GateConfig(
        body.get("name"),
        body.number("work_step"),
        body.maybe_number("pass_step"),
        body.get("pass_message"),
        body.flag("self_fix"),
        AgentRole(target) if target else None,
    )
    return gate, body.maybe_number("limit") or review.LIMIT, POLICIES[policy]


def _gate_actions(body: Body) -> str:
    gate, limit, policy = _gate(body)
    return _together(review.format_gate_actions(_qr(body), gate, limit=limit, policy=policy))


def _gate_step(body: Body) -> str:
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


def _qr_banner(body: Body) -> str:
    fresh = body.flag("fresh", otherwise=True)
    return review.format_qr_banner(_qr(body), body.get("name"), fresh_review=fresh)


def _post_qr_routing(body: Body) -> str:
    return review.format_post_qr_routing(self_fix=body.flag("self_fix"), fix_target=body.maybe("fix_target"))


def _qr_file_output(body: Body) -> str:
    status = body.get("status")
    if status not in _VERDICTS:
        raise ValueError("`status` is neither pass nor fail")
    return review.format_qr_file_output(status == "pass", body.maybe("report"), body.get("command"))


# --- text


def _text_step_header(body: Body) -> str:
    return plain_text.format_text_step_header(body.number("step"), body.number("total"), body.get("title"))


def _text_output(body: Body) -> str:
    about = body.number("step"), body.number("total"), body.get("title")
    return plain_text.format_text_output(*about, body.items, body.get("brief"), body.maybe("next_title"))


def _step(body: Body) -> str:
    return plain_text.format_step("\n".join(body.items), body.get("command"), body.get("title"))


def _invoke_command(body: Body) -> str:
    qr = _qr(body) if body.get("iteration") else None
    script, step = body.get("script"), body.number("step")
    return plain_text.format_invoke_command(script, step, body.maybe_number("total"), qr=qr)


MAKERS: Mapping[str, Callable[[Body], str]] = {
    "step_header": _step_header,
    "current_action": lambda body: block_step.format_current_action(body.items),
    "invoke_after": lambda body: block_step.format_invoke_after(_command(body)),
    "next_block": lambda body: block_step.format_next_block(_command(body)),
    "gate_result": lambda body: block_step.format_gate_result(body.get("status"), body.get("message")),
    "xml_mandate": lambda _: block_step.format_xml_mandate(),
    "step_output": _step_output,
    "subagent_dispatch": _subagent_dispatch,
    "model_selection": lambda body: block_dispatch.format_model_selection(
        body.get("model"), body.get("reason")
    ),
    "parallel_dispatch": lambda body: block_dispatch.format_parallel_dispatch(
        body.items, body.get("join", "all")
    ),
    "template_dispatch": _template_dispatch,
    "roster_dispatch": _roster_dispatch,
    "conditional_dispatch": _conditional_dispatch,
    "orchestrator_constraint": lambda _: block_dispatch.format_orchestrator_constraint(),
    "qr_banner": _qr_banner,
    "gate_actions": _gate_actions,
    "gate_step": _gate_step,
    "post_qr_routing": _post_qr_routing,
    "qr_file_output": _qr_file_output,
    "text_step_header": _text_step_header,
    "text_output": _text_output,
    "step": _step,
    "invoke_command": _invoke_command,
    "question_format": lambda _: SUB_AGENT_QUESTION_FORMAT,
    "question_relay": lambda _: QUESTION_RELAY_HANDLER,
}
