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
    from flowrail.formatters import *  # noqa: F403 - the names of its own list
    from flowrail.machines import *  # noqa: F403
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


if not TYPE_CHECKING:  # a type checker has the imports above
    __all__, __dir__, __getattr__ = lazy_exports(
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
