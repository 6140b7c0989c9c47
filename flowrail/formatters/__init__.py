"""Values as text: XML for agents, text for people, JSON for programs.

The functions below format the parts of a step for scripts that print their own steps. They are imported when
they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

__all__ = [
    "format_conditional_dispatch",
    "format_current_action",
    "format_detection_questions",
    "format_expected_output",
    "format_factored_verification_rationale",
    "format_forbidden",
    "format_gate_actions",
    "format_gate_result",
    "format_gate_step",
    "format_incorrect_behavior",
    "format_invoke_after",
    "format_invoke_command",
    "format_model_selection",
    "format_next_block",
    "format_open_question_guidance",
    "format_orchestrator_constraint",
    "format_parallel_dispatch",
    "format_post_qr_routing",
    "format_qr_banner",
    "format_qr_file_output",
    "format_resource",
    "format_roster_dispatch",
    "format_routing",
    "format_state_banner",
    "format_step",
    "format_step_header",
    "format_step_output",
    "format_subagent_dispatch",
    "format_template_dispatch",
    "format_text_output",
    "format_text_step_header",
    "format_verification_checklist",
    "format_xml_mandate",
]

_MODULES = {
    "flowrail.formatters.blocks.dispatch": (
        "format_conditional_dispatch",
        "format_model_selection",
        "format_orchestrator_constraint",
        "format_parallel_dispatch",
        "format_roster_dispatch",
        "format_subagent_dispatch",
        "format_template_dispatch",
    ),
    "flowrail.formatters.blocks.instructions": (
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
    "flowrail.formatters.blocks.plain_text": (
        "format_invoke_command",
        "format_step",
        "format_text_output",
        "format_text_step_header",
    ),
    "flowrail.formatters.blocks.review": (
        "format_gate_actions",
        "format_gate_step",
        "format_post_qr_routing",
        "format_qr_banner",
        "format_qr_file_output",
    ),
    "flowrail.formatters.blocks.step": (
        "format_current_action",
        "format_gate_result",
        "format_invoke_after",
        "format_next_block",
        "format_step_header",
        "format_step_output",
        "format_xml_mandate",
    ),
}

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
        return value


def __dir__() -> list[str]:
    return __all__
