"""flowrail makes coding agents follow multi-step procedures.

The public names, each imported when it is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowrail.diagrams.drawing import (
        to_mermaid as to_mermaid,
        to_svg as to_svg,
    )
    from flowrail.errors import (
        ChangedError as ChangedError,
        ConflictError as ConflictError,
        DocumentError as DocumentError,
        FlowError as FlowError,
        HandoffError as HandoffError,
        StorageError as StorageError,
        TrustError as TrustError,
        UsageError as UsageError,
    )
    from flowrail.formatters import (
        format_conditional_dispatch as format_conditional_dispatch,
        format_current_action as format_current_action,
        format_detection_questions as format_detection_questions,
        format_expected_output as format_expected_output,
        format_factored_verification_rationale as format_factored_verification_rationale,
        format_forbidden as format_forbidden,
        format_gate_actions as format_gate_actions,
        format_gate_result as format_gate_result,
        format_gate_step as format_gate_step,
        format_incorrect_behavior as format_incorrect_behavior,
        format_invoke_after as format_invoke_after,
        format_invoke_command as format_invoke_command,
        format_model_selection as format_model_selection,
        format_next_block as format_next_block,
        format_open_question_guidance as format_open_question_guidance,
        format_orchestrator_constraint as format_orchestrator_constraint,
        format_parallel_dispatch as format_parallel_dispatch,
        format_post_qr_routing as format_post_qr_routing,
        format_qr_banner as format_qr_banner,
        format_qr_file_output as format_qr_file_output,
        format_resource as format_resource,
        format_roster_dispatch as format_roster_dispatch,
        format_routing as format_routing,
        format_state_banner as format_state_banner,
        format_step as format_step,
        format_step_header as format_step_header,
        format_step_output as format_step_output,
        format_subagent_dispatch as format_subagent_dispatch,
        format_template_dispatch as format_template_dispatch,
        format_text_output as format_text_output,
        format_text_step_header as format_text_step_header,
        format_verification_checklist as format_verification_checklist,
        format_xml_mandate as format_xml_mandate,
    )
    from flowrail.machines import (
        QUESTION_RELAY_HANDLER as QUESTION_RELAY_HANDLER,
        SUB_AGENT_QUESTION_FORMAT as SUB_AGENT_QUESTION_FORMAT,
        AgentRole as AgentRole,
        Arg as Arg,
        BoundedInt as BoundedInt,
        BranchCommand as BranchCommand,
        BranchRouting as BranchRouting,
        ChoiceSet as ChoiceSet,
        Confidence as Confidence,
        Constant as Constant,
        Dispatch as Dispatch,
        DocumentAvailability as DocumentAvailability,
        EvidenceCheck as EvidenceCheck,
        Finding as Finding,
        FlatCommand as FlatCommand,
        FolderResources as FolderResources,
        GateConfig as GateConfig,
        GitCondition as GitCondition,
        Guidance as Guidance,
        GuidanceResult as GuidanceResult,
        Level as Level,
        LinearRouting as LinearRouting,
        LoopState as LoopState,
        Markup as Markup,
        NextCommand as NextCommand,
        OfferedTransition as OfferedTransition,
        Option as Option,
        Outcome as Outcome,
        OutcomeNotOpenError as OutcomeNotOpenError,
        QRState as QRState,
        QRStatus as QRStatus,
        Question as Question,
        Record as Record,
        Report as Report,
        ResourceProvider as ResourceProvider,
        Routing as Routing,
        Rule as Rule,
        Session as Session,
        SessionEndedError as SessionEndedError,
        Severity as Severity,
        Step as Step,
        StepContext as StepContext,
        StepDef as StepDef,
        StepOutput as StepOutput,
        Suppression as Suppression,
        TerminalRouting as TerminalRouting,
        ValuesError as ValuesError,
        Variant as Variant,
        Workflow as Workflow,
        WorkflowError as WorkflowError,
        advance as advance,
        blocking_severities as blocking_severities,
        check_workflow as check_workflow,
        compile_workflow as compile_workflow,
        discover_workflows as discover_workflows,
        event_name as event_name,
        guide as guide,
        parse_questions as parse_questions,
        position as position,
        register_workflow as register_workflow,
        skill as skill,
        start as start,
    )
    from flowrail.operations.running.steps import RevisionConflictError as RevisionConflictError
    from flowrail.operations.session_store import (
        ListedSession as ListedSession,
        SessionStore as SessionStore,
        SessionView as SessionView,
        load_workflow as load_workflow,
        open_store as open_store,
    )
    from flowrail.testing import (
        extract_schema as extract_schema,
        generate_inputs as generate_inputs,
        run_skill_invocation as run_skill_invocation,
    )

__version__ = "0.1.0"


def lazy_exports(
    package: str, modules: Mapping[str, str], *, unlisted: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[str], Callable[[], list[str]], Callable[[str], object]]:
    """Return `__all__`, `__dir__` and `__getattr__` of a package whose names are imported on first use.

    *modules* gives the names that each module defines, separated by blanks. Names that begin with a key
    of *unlisted* are imported from its module but not listed.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}
    names = sorted(module_of)

    def load(name: str) -> object:
        others = (module for beginning, module in unlisted.items() if name.startswith(beginning))
        module = module_of.get(name) or next(others, None)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return names, names.copy, load


__all__, __dir__, _load = lazy_exports(
    __name__,
    {
        "flowrail.diagrams.drawing": "to_mermaid to_svg",
        "flowrail.errors": (
            "ChangedError ConflictError DocumentError FlowError HandoffError StorageError TrustError "
            "UsageError"
        ),
        "flowrail.machines": (
            "AgentRole Arg BoundedInt BranchCommand BranchRouting ChoiceSet Confidence Constant Dispatch "
            "DocumentAvailability EvidenceCheck Finding FlatCommand FolderResources GateConfig "
            "GitCondition Guidance GuidanceResult Level LinearRouting LoopState Markup NextCommand "
            "OfferedTransition Option Outcome OutcomeNotOpenError QRState QRStatus QUESTION_RELAY_HANDLER "
            "Question Record Report ResourceProvider Routing Rule SUB_AGENT_QUESTION_FORMAT Session "
            "SessionEndedError Severity Step StepContext StepDef StepOutput Suppression TerminalRouting "
            "ValuesError Variant Workflow WorkflowError advance blocking_severities check_workflow "
            "compile_workflow discover_workflows event_name guide parse_questions position "
            "register_workflow skill start"
        ),
        "flowrail.operations.running.steps": "RevisionConflictError",
        "flowrail.operations.session_store": (
            "ListedSession SessionStore SessionView load_workflow open_store"
        ),
        "flowrail.testing": "extract_schema generate_inputs run_skill_invocation",
    },
    unlisted={"format_": "flowrail.formatters"},
)

if not TYPE_CHECKING:  # a type checker has the imports above
    __getattr__ = _load
