"""Find the skills that can take over work, and rank them.

    locations ─▶ frontmatter ─▶ declaration ─▶ scan ─▶ index ─▶ scores ─▶ menu
                                                         ▲
                                                         └── registry; `registry_sync` writes it

`discover` returns everything as one value. The names below are imported when they are first used.
"""

from __future__ import annotations

from flowrail import lazy_exports

__dir__, __getattr__ = lazy_exports(__name__, __file__)
