"""flowrail makes coding agents follow multi-step procedures.

The public names, each imported when it is first used. The stub `__init__.pyi` lists them, each with its module: one list for
type checkers and for the program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module

__version__ = "0.1.0"


def lazy_exports(
    package: str, file: str, unlisted: Collection[str] = ()
) -> tuple[Callable[[], list[str]], Callable[[str], object]]:
    """Return `__dir__` and `__getattr__` of a package. Names from the modules *unlisted* are not in `__all__`."""

    @cache
    def modules() -> dict[str, str]:
        with open(f"{file}i", encoding="utf-8") as stub:
            return _modules_in(stub.read())

    def names() -> list[str]:
        return sorted(name for name, module in modules().items() if module not in unlisted)

    def load(name: str) -> object:
        if name == "__all__":
            return names()
        if name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return names, load


def _modules_in(stub: str) -> dict[str, str]:
    """Return the module of each name that a stub imports, as in `from module import name as name`, or all its names."""
    modules: dict[str, str] = {}
    module = ""
    words = iter(stub.replace(",", " ").split())
    for word in words:
        if word == "from":
            module = next(words)
        elif word == "as":
            modules[next(words)] = module
        elif word == "*":
            modules |= dict.fromkeys(dir(import_module(module)), module)
    return modules


__dir__, __getattr__ = lazy_exports(__name__, __file__, unlisted=("flowrail.formatters",))
