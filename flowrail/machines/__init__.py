"""Workflows: their definition, the machine they compile to, sessions, and what an agent reads at a step.

Each name below is imported when it is first used, because a step needs few of them.
"""

from importlib import import_module

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
    **dict.fromkeys(("QUESTION_RELAY_HANDLER", "SUB_AGENT_QUESTION_FORMAT"), "machines.asked_questions"),
    **dict.fromkeys(("CommandFact", "Evidence", "StepCommand"), "machines.demanded_evidence"),
    **dict.fromkeys(("AgentRole", "Dispatch"), "machines.dispatch"),
    **dict.fromkeys(("Finding", "WorkflowError"), "machines.findings"),
    "GateConfig": "machines.gate_config",
    **dict.fromkeys(("Guidance", "guide"), "machines.guidance.guide"),
    "OfferedTransition": "machines.guidance.offers",
    **dict.fromkeys(("discover_workflows", "register_workflow"), "machines.loading.packages"),
    "skill": "machines.loading.skill_decorator",
    "ResourceProvider": "machines.loading.skill_folder",
    **dict.fromkeys(("Option", "Question"), "machines.question"),
    "parse_questions": "machines.question_input",
    **dict.fromkeys(("OutcomeNotOpenError", "SessionEndedError", "ValuesError"), "machines.reported_values"),
    **dict.fromkeys(
        (
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
        "machines.script_steps",
    ),
    **dict.fromkeys(("Report", "Session"), "machines.session"),
    "Record": "machines.session_record",
    **dict.fromkeys(("Severity", "blocking_severities"), "machines.severities"),
    **dict.fromkeys(("compile_workflow", "event_name", "position"), "machines.statechart"),
    **dict.fromkeys(("Rule", "StepContext", "StepDef", "Variant"), "machines.step"),
    **dict.fromkeys(("advance", "start"), "machines.transition"),
    "Arg": "machines.values",
    **dict.fromkeys(("BoundedInt", "ChoiceSet", "Constant"), "machines.domains"),
    "Workflow": "machines.workflow",
    "Outcome": "outcome",
    "Markup": "text.safe_text",
}
"""The module of each name."""

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

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"flowrail.{_MODULES[name]}"), name)
