"""flowrail makes coding agents follow multi-step procedures.

These are the names that most programs need. Each is imported when it is first used, because every hook of an agent's host
imports this package. The packages `flowrail.machines`, `.formatters`, `.testing`, `.discovery` and `.handoff` have more.
"""

TYPE_CHECKING = False  # not from `typing`: every hook would import it
if TYPE_CHECKING:
    from flowrail.errors import (
        ChangedError,
        ConflictError,
        DocumentError,
        FlowError,
        HandoffError,
        StorageError,
        TrustError,
        UsageError,
    )
    from flowrail.machines import (
        AgentRole,
        Arg,
        Dispatch,
        Evidence,
        GateConfig,
        Option,
        Outcome,
        Question,
        Report,
        Rule,
        Session,
        StepCommand,
        StepContext,
        StepDef,
        Variant,
        Workflow,
        advance,
        compile_workflow,
        start,
    )
    from flowrail.machines.checks.check import check_workflow as check
    from flowrail.operations.program_sessions import (
        SessionStore,
        SessionView,
        load_workflow,
        open_store,
        to_mermaid,
        to_svg,
    )

__version__ = "0.1.0"

_ELSEWHERE = {
    "check": "machines.checks.check:check_workflow",
    **dict.fromkeys(
        ("SessionStore", "SessionView", "load_workflow", "open_store", "to_mermaid", "to_svg"),
        "operations.program_sessions",
    ),
    **dict.fromkeys(
        (
            *("ChangedError", "ConflictError", "DocumentError", "FlowError", "HandoffError"),
            *("StorageError", "TrustError", "UsageError"),
        ),
        "errors",
    ),
}
"""The module of each name that is not one of `flowrail.machines`, with its name there if that differs."""

__all__ = [
    "AgentRole",
    "Arg",
    "ChangedError",
    "ConflictError",
    "Dispatch",
    "DocumentError",
    "Evidence",
    "FlowError",
    "GateConfig",
    "HandoffError",
    "Option",
    "Outcome",
    "Question",
    "Report",
    "Rule",
    "Session",
    "SessionStore",
    "SessionView",
    "StepCommand",
    "StepContext",
    "StepDef",
    "StorageError",
    "TrustError",
    "UsageError",
    "Variant",
    "Workflow",
    "advance",
    "check",
    "compile_workflow",
    "load_workflow",
    "open_store",
    "start",
    "to_mermaid",
    "to_svg",
]


if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # every hook imports this package, and uses none of its names

        module, _, there = _ELSEWHERE.get(name, "machines").partition(":")
        return getattr(import_module(f"{__name__}.{module}"), there or name)


def __dir__() -> list[str]:
    return sorted(__all__)
