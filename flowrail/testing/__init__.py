"""Tools for tests of workflows: domains and inputs, one invocation, a run in memory, strategies.

Nothing here needs pytest. `workflows` and `sessions` are Hypothesis strategies. `import *` leaves them out, because
Hypothesis may not be installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowrail import lazy_exports

if TYPE_CHECKING:
    from flowrail.machines.definition.values import (
        BoundedInt as BoundedInt,
        ChoiceSet as ChoiceSet,
        Constant as Constant,
    )
    from flowrail.machines.exploration.inputs import (
        extract_schema as extract_schema,
        generate_inputs as generate_inputs,
        input_id as input_id,
    )
    from flowrail.testing.invocation import run_skill_invocation as run_skill_invocation
    from flowrail.testing.run import (
        Run as Run,
        load as load,
    )
    from flowrail.testing.strategies import (
        sessions as sessions,
        workflows as workflows,
    )
else:
    __all__, __dir__, __getattr__ = lazy_exports(
        __name__,
        {
            "flowrail.machines.definition.values": "BoundedInt ChoiceSet Constant",
            "flowrail.machines.exploration.inputs": "extract_schema generate_inputs input_id",
            "flowrail.testing.invocation": "run_skill_invocation",
            "flowrail.testing.run": "Run load",
        },
        unlisted=dict.fromkeys(("sessions", "workflows"), "flowrail.testing.strategies"),
    )
