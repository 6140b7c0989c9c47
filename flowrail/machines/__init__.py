"""Workflows: their definition, the machine they compile to, sessions, and what an agent reads at a step.

The names below are imported when they are first used.
"""

from __future__ import annotations

from flowrail import lazy_exports

__dir__, __getattr__ = lazy_exports(__name__, __file__)
