"""Tools for tests of workflows: domains and inputs, one invocation, a run in memory. Nothing here needs pytest."""

from __future__ import annotations

from flowrail import lazy_exports

__dir__, __getattr__ = lazy_exports(__name__, __file__)
