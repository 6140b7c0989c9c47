from collections.abc import Callable, Collection

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
from flowrail.formatters import *
from flowrail.machines import *
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

__version__: str

def lazy_exports(
    package: str, file: str, unlisted: Collection[str] = ()
) -> tuple[Callable[[], list[str]], Callable[[str], object]]: ...
