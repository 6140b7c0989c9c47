"""flowrail makes coding agents follow multi-step procedures.

These are the names that most programs need. Each is imported when it is first used, because every hook of an agent's host
imports this package. The packages `flowrail.machines`, `.formatters`, `.testing`, `.discovery` and `.handoff` have more.
"""

from flowrail.lazy_names import lazy_names

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
    from flowrail.machines.checks.check import check
    from flowrail.operations.program_sessions import (
        SessionStore,
        SessionView,
        load_workflow,
        open_store,
        to_mermaid,
        to_svg,
    )

__version__ = "0.1.0"

_MODULES = {
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
    "machines": (
        "AgentRole",
        "Arg",
        "Dispatch",
        "Evidence",
        "GateConfig",
        "Option",
        "Outcome",
        "Question",
        "Report",
        "Rule",
        "Session",
        "StepCommand",
        "StepContext",
        "StepDef",
        "Variant",
        "Workflow",
        "advance",
        "compile_workflow",
        "start",
    ),
    "machines.checks.check": ("check",),
    "operations.program_sessions": (
        "SessionStore",
        "SessionView",
        "load_workflow",
        "open_store",
        "to_mermaid",
        "to_svg",
    ),
}
"""The names of each module."""

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
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
