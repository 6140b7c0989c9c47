"""flowrail keeps a coding agent on the rails of a procedure.

The public names, each imported from its room when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "machines.definition.step": (
        "Outcome",
        "Rule",
        "StepContext",
        "StepDef",
        "Variant",
    ),
    "machines.definition.workflow": ("Workflow",),
    "machines.definition.questions": ("Option", "Question"),
    "machines.definition.suppressions": ("Suppression",),
    "machines.definition.values": ("Arg",),
    "machines.definition.domains": ("BoundedInt", "ChoiceSet", "Constant"),
    "machines.definition.delegation": ("AgentRole", "Dispatch"),
    "machines.definition.gates": (
        "Confidence",
        "DocumentAvailability",
        "GateConfig",
        "LoopState",
        "QRState",
        "QRStatus",
        "Severity",
        "blocking_severities",
    ),
    "machines.loading.resources": ("FolderResources", "ResourceProvider"),
    "machines.checks.check": ("check_workflow",),
    "machines.definition.findings": ("Finding", "WorkflowError"),
    "machines.engine.statechart": ("compile_workflow", "event_name", "position"),
    "machines.sessions.session": ("Report", "Session"),
    "machines.engine.advance": ("advance", "start"),
    "machines.guidance.guide": ("Guidance", "guide"),
    "text.markup": ("Markup",),
    "machines.definition.script_steps": (
        "BranchCommand",
        "BranchRouting",
        "FlatCommand",
        "GuidanceResult",
        "LinearRouting",
        "NextCommand",
        "Routing",
        "Step",
        "StepOutput",
        "TerminalRouting",
    ),
    "machines.guidance.question_relay": (
        "QUESTION_RELAY_HANDLER",
        "SUB_AGENT_QUESTION_FORMAT",
        "parse_questions",
    ),
    "machines.loading.packages": ("discover_workflows", "register_workflow"),
    "machines.loading.skill_decorator": ("skill",),
    "formatters.blocks.step": (
        "format_current_action",
        "format_gate_result",
        "format_invoke_after",
        "format_next_block",
        "format_step_header",
        "format_step_output",
        "format_xml_mandate",
    ),
    "formatters.blocks.dispatch": (
        "format_conditional_dispatch",
        "format_model_selection",
        "format_orchestrator_constraint",
        "format_parallel_dispatch",
        "format_roster_dispatch",
        "format_subagent_dispatch",
        "format_template_dispatch",
    ),
    "formatters.blocks.instructions": (
        "format_detection_questions",
        "format_expected_output",
        "format_factored_verification_rationale",
        "format_forbidden",
        "format_incorrect_behavior",
        "format_open_question_guidance",
        "format_resource",
        "format_routing",
        "format_state_banner",
        "format_verification_checklist",
    ),
    "formatters.blocks.review": (
        "format_gate_actions",
        "format_gate_step",
        "format_post_qr_routing",
        "format_qr_banner",
        "format_qr_file_output",
    ),
    "formatters.blocks.plain_text": (
        "format_invoke_command",
        "format_step",
        "format_text_output",
        "format_text_step_header",
    ),
    "errors": (
        "ChangedError",
        "ConflictError",
        "DocumentError",
        "FlowError",
        "HandoffError",
        "StorageError",
        "TrustError",
        "UsageError",
    ),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604 - names, from the table above


def room_of(name: str) -> str:
    """Return the module below `flowrail` that has a public name; nothing where none has."""
    return _HOMES.get(name, "")


def __getattr__(name: str) -> Any:
    room = room_of(name)
    if not room:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"flowrail.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
