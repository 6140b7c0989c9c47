"""Import click, the engine and cattrs without what they bring along for uses that are not ours.

They import asyncio, logging, translations, validators and more at the top, half of what a step would
cost. While they are imported, `sys.modules` holds placeholders, which are removed afterwards. A placeholder
imports the real module when something is used that it does not have. Only the command line does this: it owns
its process.
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


class _Placeholder(ModuleType):
    """A module that is imported when something is used that is not *known*."""

    def __init__(self, name: str, **known: object) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


class _CallPlaceholder:
    """A class or function that is imported when it is called."""

    def __init__(self, module: str, name: str) -> None:
        self._where = (module, name)

    def __call__(self, *args: object, **kwargs: object) -> object:
        module, name = self._where
        return getattr(import_module(module), name)(*args, **kwargs)


class _Logger:
    """A logger as logging configures it by default, until logging is imported: quiet below a warning."""

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
def placeholders(*modules: ModuleType) -> Iterator[None]:
    """Let imports find *modules*, except those whose real module is already imported."""
    put = {module.__name__: module for module in modules if module.__name__ not in sys.modules}
    sys.modules.update(put)
    try:
        yield
    finally:
        for name, module in put.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def load_command_line() -> ModuleType:
    """Import click without translations, and then the command line."""
    with placeholders(
        _Placeholder("gettext", gettext=str, ngettext=_counted), _Placeholder("tokenize"), *_platform()
    ):
        import_module("click")
    return import_module("flowrail.cli.main")


def load_engine() -> None:
    """Import the engine and cattrs, with which every session is read."""
    if "statemachine" not in sys.modules:
        sys.modules[_TRANSLATIONS] = _untranslated()
        with placeholders(*_concurrency(), _Placeholder("logging", getLogger=_Logger, DEBUG=_DEBUG)):
            import_module("statemachine")
    quote = _CallPlaceholder("urllib.parse", "quote_from_bytes")  # for `Path.as_uri`
    unused = [_Placeholder("urllib.parse", quote_from_bytes=quote)]
    unused += map(_Placeholder, ("attr.validators", "attrs.validators"))
    with placeholders(*unused, *_platform()):
        import_module("cattrs")
    import_module("flowrail.machines.engine.transitions")


def _counted(singular: str, plural: str, count: int) -> str:
    return singular if count == 1 else plural


def _untranslated() -> ModuleType:
    return _Placeholder(_TRANSLATIONS, _=str)


def _concurrency() -> list[ModuleType]:
    """Return placeholders for what the engine imports for coroutines and threads."""
    futures = _Placeholder(
        "concurrent.futures",
        **{name: _CallPlaceholder("concurrent.futures", name) for name in ("Future", "ThreadPoolExecutor")},
    )
    names = ("asyncio", "concurrent", "concurrent.futures")
    if any(name in sys.modules for name in names):
        return []
    return [_Placeholder("asyncio"), _Placeholder("concurrent", futures=futures), futures]


def _platform() -> list[ModuleType]:
    """Return a placeholder for `platform` with the two functions that are called at import, if the results are known."""
    if sys.implementation.name != "cpython" or not hasattr(os, "uname"):
        return []
    known = {"system": os.uname().sysname, "python_implementation": "CPython"}
    return [_Placeholder("platform", **{name: (lambda value=value: value) for name, value in known.items()})]
