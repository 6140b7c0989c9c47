"""Import the engine without paying for asyncio, which it only needs for async callbacks.

The engine imports asyncio and concurrent.futures at the top, more than a third of what a step
costs. While it is imported, stand-ins lie in `sys.modules`; afterwards they are taken away again,
so that everybody else gets the real ones, and the engine's stand-ins bring in the real ones the first
time that anything is asked of them. The engine's translations, which bring in gettext and pathlib for
messages that no user of ours sees, are stood in for by the messages themselves. Only the command line
does any of this: it owns its process.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_TRANSLATIONS = "statemachine.i18n"
_STOOD_IN = ("asyncio", "concurrent", "concurrent.futures")


class _Later(ModuleType):
    """A module that is imported when something is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


class _Maker:
    """A class that is imported when one of its kind is made."""

    def __init__(self, module: str, name: str) -> None:
        self._where = (module, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, name = self._where
        return getattr(import_module(module), name)(*args, **kwargs)


def load_engine() -> None:
    """Import the engine's door, `machines.compile`, with asyncio left for later."""
    if "statemachine" not in sys.modules and not any(name in sys.modules for name in _STOOD_IN):
        _stand_in()
    import_module("flowrail.machines.compile")


def _untranslated() -> ModuleType:
    module = ModuleType(_TRANSLATIONS)
    module._ = str  # type: ignore[attr-defined]
    return module


def _stand_in() -> None:
    futures = _Later("concurrent.futures")
    for name in ("Future", "ThreadPoolExecutor"):
        setattr(futures, name, _Maker("concurrent.futures", name))
    package = _Later("concurrent")
    package.futures = futures  # type: ignore[attr-defined]
    sys.modules[_TRANSLATIONS] = _untranslated()
    stand_ins = {"asyncio": _Later("asyncio"), "concurrent": package, "concurrent.futures": futures}
    sys.modules.update(stand_ins)
    try:
        import_module("statemachine")
    finally:
        for name, module in stand_ins.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
