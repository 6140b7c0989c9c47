"""Tools for tests of workflows: domains and inputs, one invocation, a run in memory, strategies.

Nothing here needs pytest. `workflows` and `sessions` are Hypothesis strategies. `import *` leaves them out, because
Hypothesis may not be installed.
"""

from __future__ import annotations

from flowrail import lazy_exports

__dir__, __getattr__ = lazy_exports(__name__, __file__, unlisted=("flowrail.testing.strategies",))
