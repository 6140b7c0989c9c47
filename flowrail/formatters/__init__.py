"""Values as text: XML for agents, text for people, JSON for programs.

The functions below format the parts of a step for scripts that print their own steps. Each is imported when it is first
used, because a step of a session needs few of them.
"""

from flowrail.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flowrail.formatters.blocks.dispatch import (
        format_orchestrator_constraint,
        format_subagent_dispatch,
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
    )
    from flowrail.formatters.blocks.review import (
        format_gate_step,
        format_post_qr_routing,
        format_qr_banner,
        format_qr_file_output,
    )
    from flowrail.formatters.blocks.script_step import (
        format_current_action,
        format_gate_result,
        format_invoke_after,
        format_next_block,
        format_step_header,
        format_step_output,
        format_xml_mandate,
    )
    from flowrail.machines.gate_config import GateConfig
    from flowrail.machines.script_steps import QRState

_MODULES = {
    "formatters.blocks.dispatch": (
        "format_orchestrator_constraint",
        "format_subagent_dispatch",
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
    "formatters.blocks.plain_text": (
        "format_invoke_command",
        "format_step",
        "format_text_output",
    ),
    "formatters.blocks.review": (
        "format_gate_step",
        "format_post_qr_routing",
        "format_qr_banner",
        "format_qr_file_output",
    ),
    "formatters.blocks.script_step": (
        "format_current_action",
        "format_gate_result",
        "format_invoke_after",
        "format_next_block",
        "format_step_header",
        "format_step_output",
        "format_xml_mandate",
    ),
    "machines.gate_config": ("GateConfig",),
    "machines.script_steps": ("QRState",),
}
"""The names of each module."""

__all__ = [
    "GateConfig",
    "QRState",
    "format_current_action",
    "format_detection_questions",
    "format_expected_output",
    "format_factored_verification_rationale",
    "format_forbidden",
    "format_gate_result",
    "format_gate_step",
    "format_incorrect_behavior",
    "format_invoke_after",
    "format_invoke_command",
    "format_next_block",
    "format_open_question_guidance",
    "format_orchestrator_constraint",
    "format_post_qr_routing",
    "format_qr_banner",
    "format_qr_file_output",
    "format_resource",
    "format_routing",
    "format_state_banner",
    "format_step",
    "format_step_header",
    "format_step_output",
    "format_subagent_dispatch",
    "format_text_output",
    "format_verification_checklist",
    "format_xml_mandate",
]


if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
