"""Workflows: their definition, the machine they compile to, sessions, and what an agent reads at a step.

Each name below is imported when it is first used, because a step needs few of them.
"""

from flowrail.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flowrail.machines.asked_questions import QUESTION_RELAY_HANDLER, SUB_AGENT_QUESTION_FORMAT
    from flowrail.machines.demanded_evidence import CommandFact, Evidence, StepCommand
    from flowrail.machines.dispatch import AgentRole, Dispatch
    from flowrail.machines.domains import BoundedInt, ChoiceSet, Constant
    from flowrail.machines.findings import Finding, WorkflowError
    from flowrail.machines.gate_config import GateConfig
    from flowrail.machines.guidance.guide import Guidance, guide
    from flowrail.machines.guidance.offers import OfferedTransition
    from flowrail.machines.loading.packages import discover_workflows, register_workflow
    from flowrail.machines.loading.skill_decorator import skill
    from flowrail.machines.loading.skill_folder import ResourceProvider
    from flowrail.machines.question import Option, Question
    from flowrail.machines.question_input import parse_questions
    from flowrail.machines.reported_values import OutcomeNotOpenError, SessionEndedError, ValuesError
    from flowrail.machines.script_steps import (
        BranchCommand,
        BranchRouting,
        Confidence,
        DocumentAvailability,
        FlatCommand,
        GuidanceResult,
        LinearRouting,
        LoopState,
        NextCommand,
        QRState,
        QRStatus,
        Routing,
        Step,
        StepOutput,
        TerminalRouting,
    )
    from flowrail.machines.session import Report, Session
    from flowrail.machines.session_record import Record
    from flowrail.machines.severities import Severity, blocking_severities
    from flowrail.machines.statechart import compile_workflow, event_name, position
    from flowrail.machines.step import Rule, StepContext, StepDef, Variant
    from flowrail.machines.transition import advance, start
    from flowrail.machines.values import Arg
    from flowrail.machines.workflow import Workflow
    from flowrail.outcome import Outcome
    from flowrail.text.safe_text import Markup

_MODULES = {
    "machines.asked_questions": ("QUESTION_RELAY_HANDLER", "SUB_AGENT_QUESTION_FORMAT"),
    "machines.demanded_evidence": ("CommandFact", "Evidence", "StepCommand"),
    "machines.dispatch": ("AgentRole", "Dispatch"),
    "machines.domains": ("BoundedInt", "ChoiceSet", "Constant"),
    "machines.findings": ("Finding", "WorkflowError"),
    "machines.gate_config": ("GateConfig",),
    "machines.guidance.guide": ("Guidance", "guide"),
    "machines.guidance.offers": ("OfferedTransition",),
    "machines.loading.packages": ("discover_workflows", "register_workflow"),
    "machines.loading.skill_decorator": ("skill",),
    "machines.loading.skill_folder": ("ResourceProvider",),
    "machines.question": ("Option", "Question"),
    "machines.question_input": ("parse_questions",),
    "machines.reported_values": ("OutcomeNotOpenError", "SessionEndedError", "ValuesError"),
    "machines.script_steps": (
        "BranchCommand",
        "BranchRouting",
        "Confidence",
        "DocumentAvailability",
        "FlatCommand",
        "GuidanceResult",
        "LinearRouting",
        "LoopState",
        "NextCommand",
        "QRState",
        "QRStatus",
        "Routing",
        "Step",
        "StepOutput",
        "TerminalRouting",
    ),
    "machines.session": ("Report", "Session"),
    "machines.session_record": ("Record",),
    "machines.severities": ("Severity", "blocking_severities"),
    "machines.statechart": ("compile_workflow", "event_name", "position"),
    "machines.step": ("Rule", "StepContext", "StepDef", "Variant"),
    "machines.transition": ("advance", "start"),
    "machines.values": ("Arg",),
    "machines.workflow": ("Workflow",),
    "outcome": ("Outcome",),
    "text.safe_text": ("Markup",),
}
"""The names of each module."""

__all__ = [
    "QUESTION_RELAY_HANDLER",
    "SUB_AGENT_QUESTION_FORMAT",
    "AgentRole",
    "Arg",
    "BoundedInt",
    "BranchCommand",
    "BranchRouting",
    "ChoiceSet",
    "CommandFact",
    "Confidence",
    "Constant",
    "Dispatch",
    "DocumentAvailability",
    "Evidence",
    "Finding",
    "FlatCommand",
    "GateConfig",
    "Guidance",
    "GuidanceResult",
    "LinearRouting",
    "LoopState",
    "Markup",
    "NextCommand",
    "OfferedTransition",
    "Option",
    "Outcome",
    "OutcomeNotOpenError",
    "QRState",
    "QRStatus",
    "Question",
    "Record",
    "Report",
    "ResourceProvider",
    "Routing",
    "Rule",
    "Session",
    "SessionEndedError",
    "Severity",
    "Step",
    "StepCommand",
    "StepContext",
    "StepDef",
    "StepOutput",
    "TerminalRouting",
    "ValuesError",
    "Variant",
    "Workflow",
    "WorkflowError",
    "advance",
    "blocking_severities",
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


if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
