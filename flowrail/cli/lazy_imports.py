"""Import click, the engine and cattrs without what they bring along for uses that are not ours.

They import asyncio, logging, translations, validators and more at the top, half of what a step would
cost. While they are imported, stand-ins lie in `sys.modules`; afterwards they are taken away again, so
that everybody else gets the real ones, and a stand-in brings in the real one the first time that
anything is asked of it which it cannot say itself. Only the command line does any of this: it owns its
process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_TRANSLATIONS = "statemachine.i18n"
_DEBUG, _WARNING = 10, 30


class _Later(ModuleType):
    """A module that is imported when something is asked of it; what is given, it says itself."""

    def __init__(self, name: str, **known: object) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


class _Maker:
    """A class that is imported when one of its kind is made."""

    def __init__(self, module: str, name: str) -> None:
        self._where = (module, name)

    def __call__(self, *args: object, **kwargs: object) -> object:
        module, name = self._where
        return getattr(import_module(module), name)(*args, **kwargs)


class _Logger:
    """A logger that is what it is by default until somebody imports logging: quiet below a warning."""

    def __init__(self, name: str) -> None:
        self._name = name

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's name
        if "logging" in sys.modules:
            return bool(self._real().isEnabledFor(level))
        return level >= _WARNING

    def _real(self) -> Any:
        return import_module("logging").getLogger(self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)


@contextmanager
def standing_in(*modules: ModuleType) -> Iterator[None]:
    """Let *modules* be found by who imports them meanwhile, each unless the real one is there already."""
    put = {module.__name__: module for module in modules if module.__name__ not in sys.modules}
    sys.modules.update(put)
    try:
        yield
    finally:
        for name, module in put.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def load_click() -> None:
    """Import click, which translates no message of its own and reads no source code."""
    with standing_in(_Later("gettext", gettext=str, ngettext=_counted), _Later("tokenize"), *_platform()):
        import_module("click")


def load_engine() -> None:
    """Import the engine's door, `machines.compile`, and cattrs, which every session is read with."""
    if "statemachine" not in sys.modules:
        sys.modules[_TRANSLATIONS] = _untranslated()
        with standing_in(*_concurrency(), _Later("logging", getLogger=_Logger, DEBUG=_DEBUG)):
            import_module("statemachine")
    with standing_in(*map(_Later, ("attr.validators", "attrs.validators", "ipaddress")), *_platform()):
        import_module("cattrs")
    import_module("flowrail.machines.engine.statechart")


def _counted(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def _untranslated() -> ModuleType:
    return _Later(_TRANSLATIONS, _=str)


def _concurrency() -> list[ModuleType]:
    """Return what the engine imports for callbacks that are coroutines and for work in threads."""
    futures = _Later(
        "concurrent.futures",
        **{name: _Maker("concurrent.futures", name) for name in ("Future", "ThreadPoolExecutor")},
    )
    names = ("asyncio", "concurrent", "concurrent.futures")
    if any(name in sys.modules for name in names):
        return []
    return [_Later("asyncio"), _Later("concurrent", futures=futures), futures]


def _platform() -> list[ModuleType]:
    """Return what says the two things that are asked of `platform` at import, where they are known."""
    if sys.implementation.name != "cpython" or not hasattr(os, "uname"):
        return []
    said = {"system": os.uname().sysname, "python_implementation": "CPython"}
    return [_Later("platform", **{name: (lambda value=value: value) for name, value in said.items()})]
