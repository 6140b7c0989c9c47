"""flowrail keeps a coding agent on the rails of a procedure.

The public names, each imported from its room when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "machines.definition": ("Outcome", "Rule", "StepContext", "StepDef", "Variant"),
    "machines.workflow": ("Workflow",),
    "machines.params": ("Arg",),
    "machines.domains": ("BoundedInt", "ChoiceSet", "Constant"),
    "machines.delegation": ("AgentRole", "Dispatch"),
    "machines.gates": (
        "Confidence",
        "DocumentAvailability",
        "GateConfig",
        "LoopState",
        "QRState",
        "QRStatus",
        "Severity",
        "blocking_severities",
    ),
    "machines.resources": ("FolderResources", "ResourceProvider"),
    "machines.checks": ("check_workflow",),
    "machines.findings": ("Finding", "WorkflowError"),
    "machines.compile": ("compile_workflow", "event_name", "position"),
    "machines.session": ("Report", "Session"),
    "machines.advance": ("advance", "start"),
    "machines.guidance": ("Guidance", "guide"),
    "machines.loading": ("discover_workflows", "register_workflow"),
    "machines.decorator": ("skill",),
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
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604 - names, from the table above


def __getattr__(name: str) -> Any:
    room = _HOMES.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"flowrail.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
