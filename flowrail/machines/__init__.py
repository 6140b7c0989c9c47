"""Workflows: their definition, the machine they compile to, sessions, and what an agent reads at a step.

The names below are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowrail import lazy_exports

if TYPE_CHECKING:
    from flowrail.machines.checks.check import check_workflow as check_workflow
    from flowrail.machines.definition.step_parts import (
        AgentRole as AgentRole,
        Dispatch as Dispatch,
    )
    from flowrail.machines.definition.values import (
        BoundedInt as BoundedInt,
        ChoiceSet as ChoiceSet,
        Constant as Constant,
    )
    from flowrail.machines.definition.evidence import (
        EvidenceCheck as EvidenceCheck,
        GitCondition as GitCondition,
        Level as Level,
    )
    from flowrail.machines.definition.findings import (
        Finding as Finding,
        WorkflowError as WorkflowError,
    )
    from flowrail.machines.definition.step_parts import (
        GateConfig as GateConfig,
        Severity as Severity,
        blocking_severities as blocking_severities,
    )
    from flowrail.machines.definition.script_steps import (
        Confidence as Confidence,
        DocumentAvailability as DocumentAvailability,
        LoopState as LoopState,
        QRState as QRState,
        QRStatus as QRStatus,
    )
    from flowrail.machines.definition.step_parts import (
        Option as Option,
        Question as Question,
    )
    from flowrail.machines.definition.script_steps import (
        BranchCommand as BranchCommand,
        BranchRouting as BranchRouting,
        FlatCommand as FlatCommand,
        GuidanceResult as GuidanceResult,
        LinearRouting as LinearRouting,
        NextCommand as NextCommand,
        Routing as Routing,
        Step as Step,
        StepOutput as StepOutput,
        TerminalRouting as TerminalRouting,
    )
    from flowrail.machines.definition.step import (
        Outcome as Outcome,
        Rule as Rule,
        StepContext as StepContext,
        StepDef as StepDef,
        Variant as Variant,
    )
    from flowrail.machines.definition.values import Arg as Arg
    from flowrail.machines.definition.workflow import (
        Suppression as Suppression,
        Workflow as Workflow,
    )
    from flowrail.machines.engine.advance import (
        advance as advance,
        start as start,
    )
    from flowrail.machines.engine.reports import (
        OutcomeNotOpenError as OutcomeNotOpenError,
        SessionEndedError as SessionEndedError,
        ValuesError as ValuesError,
    )
    from flowrail.machines.engine.transitions import (
        compile_workflow as compile_workflow,
        event_name as event_name,
        position as position,
    )
    from flowrail.machines.guidance.guide import (
        Guidance as Guidance,
        OfferedTransition as OfferedTransition,
        guide as guide,
    )
    from flowrail.machines.engine.questions import (
        QUESTION_RELAY_HANDLER as QUESTION_RELAY_HANDLER,
        SUB_AGENT_QUESTION_FORMAT as SUB_AGENT_QUESTION_FORMAT,
    )
    from flowrail.machines.engine.question_input import parse_questions as parse_questions
    from flowrail.machines.loading.packages import (
        discover_workflows as discover_workflows,
        register_workflow as register_workflow,
    )
    from flowrail.machines.loading.skill_folder import (
        FolderResources as FolderResources,
        ResourceProvider as ResourceProvider,
    )
    from flowrail.machines.loading.skill_decorator import skill as skill
    from flowrail.machines.sessions.record import Record as Record
    from flowrail.machines.sessions.session import (
        Report as Report,
        Session as Session,
    )
    from flowrail.text.safe_text import Markup as Markup
else:
    __all__, __dir__, __getattr__ = lazy_exports(
        __name__,
        {
            "flowrail.machines.checks.check": "check_workflow",
            "flowrail.machines.definition.values": "Arg BoundedInt ChoiceSet Constant",
            "flowrail.machines.definition.evidence": "EvidenceCheck GitCondition Level",
            "flowrail.machines.definition.findings": "Finding WorkflowError",
            "flowrail.machines.definition.step_parts": (
                "AgentRole Dispatch GateConfig Option Question Severity blocking_severities"
            ),
            "flowrail.machines.definition.script_steps": (
                "BranchCommand BranchRouting Confidence DocumentAvailability FlatCommand GuidanceResult LinearRouting "
                "LoopState NextCommand QRState QRStatus Routing "
                "Step StepOutput TerminalRouting"
            ),
            "flowrail.machines.definition.step": "Outcome Rule StepContext StepDef Variant",
            "flowrail.machines.definition.workflow": "Suppression Workflow",
            "flowrail.machines.engine.advance": "advance start",
            "flowrail.machines.engine.reports": "OutcomeNotOpenError SessionEndedError ValuesError",
            "flowrail.machines.engine.transitions": "compile_workflow event_name position",
            "flowrail.machines.guidance.guide": "Guidance OfferedTransition guide",
            "flowrail.machines.engine.questions": "QUESTION_RELAY_HANDLER SUB_AGENT_QUESTION_FORMAT",
            "flowrail.machines.engine.question_input": "parse_questions",
            "flowrail.machines.loading.packages": "discover_workflows register_workflow",
            "flowrail.machines.loading.skill_folder": "FolderResources ResourceProvider",
            "flowrail.machines.loading.skill_decorator": "skill",
            "flowrail.machines.sessions.record": "Record",
            "flowrail.machines.sessions.session": "Report Session",
            "flowrail.text.safe_text": "Markup",
        },
    )
