from flowrail.formatters.blocks.dispatch import (
    format_conditional_dispatch as format_conditional_dispatch,
    format_model_selection as format_model_selection,
    format_orchestrator_constraint as format_orchestrator_constraint,
    format_parallel_dispatch as format_parallel_dispatch,
    format_roster_dispatch as format_roster_dispatch,
    format_subagent_dispatch as format_subagent_dispatch,
    format_template_dispatch as format_template_dispatch,
)
from flowrail.formatters.blocks.instructions import (
    format_detection_questions as format_detection_questions,
    format_expected_output as format_expected_output,
    format_factored_verification_rationale as format_factored_verification_rationale,
    format_forbidden as format_forbidden,
    format_incorrect_behavior as format_incorrect_behavior,
    format_open_question_guidance as format_open_question_guidance,
    format_resource as format_resource,
    format_routing as format_routing,
    format_state_banner as format_state_banner,
    format_verification_checklist as format_verification_checklist,
)
from flowrail.formatters.blocks.plain_text import (
    format_invoke_command as format_invoke_command,
    format_step as format_step,
    format_text_output as format_text_output,
    format_text_step_header as format_text_step_header,
)
from flowrail.formatters.blocks.review import (
    format_gate_actions as format_gate_actions,
    format_gate_step as format_gate_step,
    format_post_qr_routing as format_post_qr_routing,
    format_qr_banner as format_qr_banner,
    format_qr_file_output as format_qr_file_output,
)
from flowrail.formatters.blocks.step import (
    format_current_action as format_current_action,
    format_gate_result as format_gate_result,
    format_invoke_after as format_invoke_after,
    format_next_block as format_next_block,
    format_step_header as format_step_header,
    format_step_output as format_step_output,
    format_xml_mandate as format_xml_mandate,
)
