"""Values as text: XML for agents, text for people, JSON for programs.

The functions below format the parts of a step for scripts that print their own steps. They are imported when
they are first used.
"""

from __future__ import annotations

from flowrail import lazy_exports

__dir__, __getattr__ = lazy_exports(__name__, __file__)
