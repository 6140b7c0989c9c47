"""One sample of each block, or of each of its forms, by the name of its golden file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from flowrail.formatters.blocks.dispatch import (
    format_conditional_dispatch,
    format_model_selection,
    format_orchestrator_constraint,
    format_parallel_dispatch,
    format_roster_dispatch,
    format_subagent_dispatch,
    format_template_dispatch,
)
from flowrail.formatters.blocks.instructions import (
    format_detection_questions,
    format_expected_output,
    format_factored_verification_rationale,
    format_forbidden,
    format_incorrect_behavior,
    format_open_question_guidance,
    format_resource,
    format_routing,
    format_state_banner,
    format_verification_checklist,
)
from flowrail.formatters.blocks.plain_text import (
    format_invoke_command,
    format_step,
    format_text_output,
    format_text_step_header,
)
from flowrail.formatters.blocks.review import (
    format_gate_actions,
    format_gate_step,
    format_post_qr_routing,
    format_qr_banner,
    format_qr_file_output,
)
from flowrail.formatters.blocks.step import (
    format_current_action,
    format_gate_result,
    format_invoke_after,
    format_next_block,
    format_step_header,
    format_step_output,
    format_xml_mandate,
)
from flowrail.machines.definition.script_steps import BranchCommand, FlatCommand, QRState
from flowrail.machines.definition.step_parts import AgentRole, GateConfig
from flowrail.machines.engine.questions import QUESTION_RELAY_HANDLER, SUB_AGENT_QUESTION_FORMAT
from flowrail.machines.guidance.question_relay import Option, Question, as_xml

FLAT = FlatCommand("flow step review ok --session review-4k2m9a --expect 3")
BRANCH = BranchCommand("python3 plan.py --step 4", "python3 plan.py --step 2 --qr-fail")
GATE = GateConfig("Plan Review", 1, 4, "The plan holds.", fix_target=AgentRole.TECHNICAL_WRITER)
LOOK = format_subagent_dispatch(
    AgentRole.EXPLORE,
    context_vars={"area": "auth"},
    command="flow claim review-4k2m9a look-1",
    model="sonnet",
)
QUESTIONS = (
    Question(
        "cache",
        "Cache",
        "Where should the cache be kept?",
        (Option("In memory", "Empty after a restart"), Option("Redis", "One more service to run")),
    ),
    Question("ci", "CI", "Which checks run first?", (Option("Lint"), Option("Types")), multi_select=True),
)


def gate(qr: QRState, phase: str | None = None) -> str:
    """Return the gate of a plan's review."""
    return format_gate_step("plan.py", 3, 6, "Gate: plan", qr, GATE, phase)


SAMPLES: Mapping[str, Callable[[], str]] = {
    "step_header": partial(format_step_header, "plan.py", 2, 6, "Find what the plan leaves open", "review"),
    "current_action": partial(
        format_current_action,
        ["Read the plan.", "", "Is a < b && c > d anywhere?", format_forbidden(["Editing the plan"])],
    ),
    "invoke_after": partial(format_invoke_after, FLAT),
    "invoke_after.branch": partial(format_invoke_after, BRANCH),
    "next_block": partial(format_next_block, FLAT),
    "next_block.branch": partial(format_next_block, BRANCH),
    "gate_result": partial(format_gate_result, "pass", "Plan Review passed"),
    "xml_mandate": format_xml_mandate,
    "step_output": partial(
        format_step_output,
        "plan.py",
        1,
        6,
        "Read the plan",
        ["Read plan.md.", format_expected_output(["A list of its steps"])],
        FlatCommand("python3 plan.py --step 2 --total-steps 6"),
        mandate=True,
    ),
    "subagent_dispatch": lambda: LOOK,
    "subagent_dispatch.free_form": partial(
        format_subagent_dispatch, "developer", context_vars={"FINDINGS": "report.md"}, free_form=True
    ),
    "model_selection": partial(format_model_selection, "haiku", "the work is mechanical"),
    "parallel_dispatch": partial(format_parallel_dispatch, [LOOK, LOOK], "at least 1"),
    "template_dispatch": partial(
        format_template_dispatch,
        "explore",
        "Look for $what in $where.",
        [{"what": "dead code", "where": "src"}, {"what": "slow tests", "where": "tests"}],
        commands=["flow claim r-4k2m9a look-1", "flow claim r-4k2m9a look-2"],
    ),
    "template_dispatch.plain": partial(
        format_template_dispatch,
        "explore",
        "Look for $what in $where.",
        [{"what": "dead code", "where": "src"}, {"what": "slow tests", "where": "tests"}],
    ),
    "roster_dispatch": partial(
        format_roster_dispatch,
        "general-purpose",
        "The service loses sessions since Monday.",
        {"operator": "What changed on the hosts?", "author": "What changed in the code?"},
        join="any",
    ),
    "conditional_dispatch": partial(format_conditional_dispatch, "the plan changes a public name", LOOK),
    "orchestrator_constraint": format_orchestrator_constraint,
    "state_banner": partial(
        format_state_banner, "Plan", 2, "re-verify", ["Look at all of it again."], limit=5
    ),
    "qr_banner": partial(
        format_qr_banner, QRState(2, failed=True, status="fail"), "Plan Review", fresh_review=True
    ),
    "expected_output": partial(format_expected_output, ["A table of findings", "The commands that were run"]),
    "forbidden": partial(format_forbidden, ["Changing a test until it passes", "Guessing a line number"]),
    "incorrect_behavior": partial(
        format_incorrect_behavior, ["'Probably fine' without a place"], "Nobody can check it."
    ),
    "routing": partial(format_routing, {"high": "go on", "low or medium": "look again"}),
    "post_qr_routing": format_post_qr_routing,
    "post_qr_routing.self_fix": partial(format_post_qr_routing, self_fix=True),
    "resource": partial(
        format_resource, "severity", "MUST: wrong.\nCOULD: taste & style.", "to rate findings"
    ),
    "resource.plain": partial(format_resource, "severity", "MUST: wrong.\nCOULD: taste & style."),
    "detection_questions": partial(
        format_detection_questions, ["Which names changed their meaning?", "Where is each used?"], "naming"
    ),
    "verification_checklist": partial(
        format_verification_checklist, ["Every step names a file", "Every file exists"], "plan"
    ),
    "factored_verification_rationale": format_factored_verification_rationale,
    "open_question_guidance": format_open_question_guidance,
    "gate_actions": lambda: "\n".join(format_gate_actions(QRState(3, failed=True, status="fail"), GATE)),
    "gate_step.open": partial(gate, QRState(1)),
    "gate_step.pass": partial(gate, QRState(1, status="pass"), phase="planning"),
    "gate_step.fail": partial(gate, QRState(1, status="fail")),
    "gate_step.limit": partial(gate, QRState(5, failed=True, status="fail")),
    "qr_file_output": partial(
        format_qr_file_output,
        passed=False,
        report_path="review/plan.md",
        gate_command="python3 plan.py --step 3 --qr-status fail",
    ),
    "qr_file_output.pass": partial(format_qr_file_output, passed=True),
    "question_format": lambda: SUB_AGENT_QUESTION_FORMAT,
    "question_relay": lambda: QUESTION_RELAY_HANDLER,
    "needs_user_input": partial(as_xml, QUESTIONS),
}

TEXT_SAMPLES: Mapping[str, Callable[[], str]] = {
    "text_step_header": partial(format_text_step_header, 1, 2, "Analyze Problem"),
    "text_output": partial(
        format_text_output,
        1,
        2,
        "Analyze Problem",
        ["Read codebase", "Identify issues"],
        "Initial analysis",
        "Propose Solution",
    ),
    "step": partial(format_step, "Say what you found.", "python3 think.py --step 2", "WORKFLOW - Look"),
    "step.last": partial(format_step, "Say what you found."),
    "invoke_command": partial(
        format_invoke_command, "skills/my plan.py", 1, 6, qr=QRState(2, failed=True, status="fail")
    ),
}
