"""Workflows: their definition, the machine they compile to, sessions, and what an agent reads at a step.

The names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowrail.machines.checks.check import (
        check_workflow,
    )
    from flowrail.machines.definition.delegation import (
        AgentRole,
        Dispatch,
    )
    from flowrail.machines.definition.domains import (
        BoundedInt,
        ChoiceSet,
        Constant,
    )
    from flowrail.machines.definition.evidence import (
        EvidenceCheck,
        GitCondition,
        Level,
    )
    from flowrail.machines.definition.findings import (
        Finding,
        WorkflowError,
    )
    from flowrail.machines.definition.gates import (
        Confidence,
        DocumentAvailability,
        GateConfig,
        LoopState,
        QRState,
        QRStatus,
        Severity,
        blocking_severities,
    )
    from flowrail.machines.definition.questions import (
        Option,
        Question,
    )
    from flowrail.machines.definition.script_steps import (
        BranchCommand,
        BranchRouting,
        FlatCommand,
        GuidanceResult,
        LinearRouting,
        NextCommand,
        Routing,
        Step,
        StepOutput,
        TerminalRouting,
    )
    from flowrail.machines.definition.step import (
        Outcome,
        Rule,
        StepContext,
        StepDef,
        Variant,
    )
    from flowrail.machines.definition.suppressions import (
        Suppression,
    )
    from flowrail.machines.definition.values import (
        Arg,
    )
    from flowrail.machines.definition.workflow import (
        Workflow,
    )
    from flowrail.machines.engine.advance import (
        advance,
        start,
    )
    from flowrail.machines.engine.statechart import (
        compile_workflow,
        event_name,
        position,
    )
    from flowrail.machines.guidance.guide import (
        Guidance,
        guide,
    )
    from flowrail.machines.guidance.question_relay import (
        QUESTION_RELAY_HANDLER,
        SUB_AGENT_QUESTION_FORMAT,
        parse_questions,
    )
    from flowrail.machines.loading.packages import (
        discover_workflows,
        register_workflow,
    )
    from flowrail.machines.loading.resources import (
        FolderResources,
        ResourceProvider,
    )
    from flowrail.machines.loading.skill_decorator import (
        skill,
    )
    from flowrail.machines.sessions.session import (
        Report,
        Session,
    )
    from flowrail.text.markup import (
        Markup,
    )

__all__ = [
    "QUESTION_RELAY_HANDLER",
    "SUB_AGENT_QUESTION_FORMAT",
    "AgentRole",
    "Arg",
    "BoundedInt",
    "BranchCommand",
    "BranchRouting",
    "ChoiceSet",
    "Confidence",
    "Constant",
    "Dispatch",
    "DocumentAvailability",
    "EvidenceCheck",
    "Finding",
    "FlatCommand",
    "FolderResources",
    "GateConfig",
    "GitCondition",
    "Guidance",
    "GuidanceResult",
    "Level",
    "LinearRouting",
    "LoopState",
    "Markup",
    "NextCommand",
    "Option",
    "Outcome",
    "QRState",
    "QRStatus",
    "Question",
    "Report",
    "ResourceProvider",
    "Routing",
    "Rule",
    "Session",
    "Severity",
    "Step",
    "StepContext",
    "StepDef",
    "StepOutput",
    "Suppression",
    "TerminalRouting",
    "Variant",
    "Workflow",
    "WorkflowError",
    "advance",
    "blocking_severities",
    "check_workflow",
    "compile_workflow",
    "discover_workflows",
    "event_name",
    "guide",
    "parse_questions",
    "position",
    "register_workflow",
    "skill",
    "start",
]

_MODULES = {
    "flowrail.machines.checks.check": ("check_workflow",),
    "flowrail.machines.definition.delegation": (
        "AgentRole",
        "Dispatch",
    ),
    "flowrail.machines.definition.domains": (
        "BoundedInt",
        "ChoiceSet",
        "Constant",
    ),
    "flowrail.machines.definition.evidence": (
        "EvidenceCheck",
        "GitCondition",
        "Level",
    ),
    "flowrail.machines.definition.findings": (
        "Finding",
        "WorkflowError",
    ),
    "flowrail.machines.definition.gates": (
        "Confidence",
        "DocumentAvailability",
        "GateConfig",
        "LoopState",
        "QRState",
        "QRStatus",
        "Severity",
        "blocking_severities",
    ),
    "flowrail.machines.definition.questions": (
        "Option",
        "Question",
    ),
    "flowrail.machines.definition.script_steps": (
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
    "flowrail.machines.definition.step": (
        "Outcome",
        "Rule",
        "StepContext",
        "StepDef",
        "Variant",
    ),
    "flowrail.machines.definition.suppressions": ("Suppression",),
    "flowrail.machines.definition.values": ("Arg",),
    "flowrail.machines.definition.workflow": ("Workflow",),
    "flowrail.machines.engine.advance": (
        "advance",
        "start",
    ),
    "flowrail.machines.engine.statechart": (
        "compile_workflow",
        "event_name",
        "position",
    ),
    "flowrail.machines.guidance.guide": (
        "Guidance",
        "guide",
    ),
    "flowrail.machines.guidance.question_relay": (
        "QUESTION_RELAY_HANDLER",
        "SUB_AGENT_QUESTION_FORMAT",
        "parse_questions",
    ),
    "flowrail.machines.loading.packages": (
        "discover_workflows",
        "register_workflow",
    ),
    "flowrail.machines.loading.resources": (
        "FolderResources",
        "ResourceProvider",
    ),
    "flowrail.machines.loading.skill_decorator": ("skill",),
    "flowrail.machines.sessions.session": (
        "Report",
        "Session",
    ),
    "flowrail.text.markup": ("Markup",),
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
