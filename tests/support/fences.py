"""The samples of blocks as an author of a YAML skill writes them: as fences in a step's Markdown."""

from __future__ import annotations

from collections.abc import Mapping

_LOOK = """\
```flow:subagent_dispatch
agent: explore
command: flow claim review-4k2m9a look-1
model: sonnet
area = auth
```"""
_GATE = """\
script: plan.py
step: 3
total: 6
title: Gate: plan
name: Plan Review
work_step: 1
pass_step: 4
pass_message: The plan holds.
fix_target: technical-writer"""


def _fence(name: str, *lines: str, mark: str = "```") -> str:
    return "\n".join([f"{mark}flow:{name}", *lines, mark])


FENCES: Mapping[str, str] = {
    "step_header": _fence(
        "step_header",
        "script: plan.py",
        "step: 2",
        "total: 6",
        "title: Find what the plan leaves open",
        "phase: review",
    ),
    "current_action": _fence(
        "current_action",
        "Read the plan.",
        "",
        "Is a < b && c > d anywhere?",
        _fence("forbidden", "- Editing the plan"),
        mark="````",
    ),
    "invoke_after": _fence("invoke_after", "command: flow step review ok --session review-4k2m9a --expect 3"),
    "invoke_after.branch": _fence(
        "invoke_after", "if_pass: python3 plan.py --step 4", "if_fail: python3 plan.py --step 2 --qr-fail"
    ),
    "next_block": _fence("next_block", "command: flow step review ok --session review-4k2m9a --expect 3"),
    "next_block.branch": _fence(
        "next_block", "if_pass: python3 plan.py --step 4", "if_fail: python3 plan.py --step 2 --qr-fail"
    ),
    "gate_result": _fence("gate_result", "status: pass", "message: Plan Review passed"),
    "xml_mandate": _fence("xml_mandate"),
    "step_output": _fence(
        "step_output",
        "script: plan.py",
        "step: 1",
        "total: 6",
        "title: Read the plan",
        "command: python3 plan.py --step 2 --total-steps 6",
        "mandate: true",
        "",
        "Read plan.md.",
        _fence("expected_output", "- A list of its steps"),
        mark="````",
    ),
    "subagent_dispatch": _LOOK,
    "subagent_dispatch.free_form": _fence(
        "subagent_dispatch", "agent: developer", "free_form: true", "FINDINGS = report.md"
    ),
    "model_selection": _fence("model_selection", "model: haiku", "reason: the work is mechanical"),
    "parallel_dispatch": _fence("parallel_dispatch", "join: at least 1", _LOOK, "", _LOOK, mark="````"),
    "template_dispatch.plain": _fence(
        "template_dispatch",
        "agent: explore",
        "template: Look for $$what in $$where.",
        "- what = dead code",
        "  where = src",
        "- what = slow tests",
        "  where = tests",
    ),
    "roster_dispatch": _fence(
        "roster_dispatch",
        "agent: general-purpose",
        "context: The service loses sessions since Monday.",
        "join: any",
        "- operator = What changed on the hosts?",
        "- author = What changed in the code?",
    ),
    "conditional_dispatch": _fence(
        "conditional_dispatch", "when: the plan changes a public name", _LOOK, mark="````"
    ),
    "orchestrator_constraint": _fence("orchestrator_constraint"),
    "state_banner": _fence(
        "state_banner",
        "checkpoint: Plan",
        "iteration: 2",
        "mode: re-verify",
        "limit: 5",
        "- Look at all of it again.",
    ),
    "qr_banner": _fence("qr_banner", "name: Plan Review", "iteration: 2", "failed: true", "status: fail"),
    "expected_output": _fence("expected_output", "- A table of findings", "- The commands that were run"),
    "forbidden": _fence("forbidden", "- Changing a test until it passes", "- Guessing a line number"),
    "incorrect_behavior": _fence(
        "incorrect_behavior", "- 'Probably fine' without a place", "consequence: Nobody can check it."
    ),
    "routing": _fence("routing", "high: go on", "low or medium: look again"),
    "post_qr_routing": _fence("post_qr_routing"),
    "post_qr_routing.self_fix": _fence("post_qr_routing", "self_fix: true"),
    "resource.plain": _fence("resource", "- severity"),
    "detection_questions": _fence(
        "detection_questions",
        "category: naming",
        "- Which names changed their meaning?",
        "- Where is each used?",
    ),
    "verification_checklist": _fence(
        "verification_checklist", "name: plan", "- Every step names a file", "- Every file exists"
    ),
    "factored_verification_rationale": _fence("factored_verification_rationale"),
    "open_question_guidance": _fence("open_question_guidance"),
    "gate_actions": _fence(
        "gate_actions",
        *_GATE.splitlines()[4:],
        "iteration: 3",
        "failed: true",
        "status: fail",
    ),
    "gate_step.open": _fence("gate_step", _GATE, "iteration: 1"),
    "gate_step.pass": _fence("gate_step", _GATE, "iteration: 1", "status: pass", "phase: planning"),
    "gate_step.fail": _fence("gate_step", _GATE, "iteration: 1", "status: fail"),
    "gate_step.limit": _fence("gate_step", _GATE, "iteration: 5", "failed: true", "status: fail"),
    "qr_file_output": _fence(
        "qr_file_output",
        "status: fail",
        "report: review/plan.md",
        "command: python3 plan.py --step 3 --qr-status fail",
    ),
    "qr_file_output.pass": _fence("qr_file_output", "status: pass"),
    "question_format": _fence("question_format"),
    "question_relay": _fence("question_relay"),
    "text_step_header": _fence("text_step_header", "step: 1", "total: 2", "title: Analyze Problem"),
    "text_output": _fence(
        "text_output",
        "step: 1",
        "total: 2",
        "title: Analyze Problem",
        "brief: Initial analysis",
        "next_title: Propose Solution",
        "",
        "Read codebase",
        "Identify issues",
    ),
    "step": _fence(
        "step",
        "title: WORKFLOW - Look",
        "command: python3 think.py --step 2",
        "",
        "Say what you found.",
    ),
    "step.last": _fence("step", "Say what you found."),
    "invoke_command": _fence(
        "invoke_command",
        "script: skills/my plan.py",
        "step: 1",
        "total: 6",
        "iteration: 2",
        "failed: true",
        "status: fail",
    ),
}
"""By the name of the sample that each becomes; ``$$`` is a dollar once a step's text is filled."""
