"""What a skill's Python imports from beside it: out of the bytes that a person allowed, not off the disk.

A skill puts its folder on Python's path by itself; there, and below, its modules are looked for in what was
hashed. Only a compiled extension is loaded from the disk: nothing else can load it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.abc import Loader
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, ModuleSpec
from types import ModuleType

from flowrail.machines.loading.run_python import execute

_allowed: dict[str, Mapping[str, bytes]] = {}


def keep(folder: str, contents: Mapping[str, bytes] | None) -> None:
    """Have what is imported from *folder* come out of *contents* from now on; with `None`, off the disk again."""
    for name in {os.path.abspath(folder), os.path.realpath(folder)}:
        if contents is None:
            _allowed.pop(name, None)
        else:
            _allowed[name] = contents
        for entry in [*sys.path_importer_cache]:
            if _is_inside(entry, name):
                del sys.path_importer_cache[entry]
    if _allowed and _finder_of not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder_of)


def _finder_of(entry: str) -> _Finder:
    """Return what finds the modules of a folder on Python's path; ImportError where that is none of ours."""
    path = os.path.abspath(entry)
    for folder, contents in _allowed.items():
        if _is_inside(path, folder):
            return _Finder(path, os.path.relpath(path, folder), contents)
    raise ImportError


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


class _Finder:
    """Finds modules as Python's own finder would, in what the folder held when it was hashed."""

    def __init__(self, path: str, inner: str, contents: Mapping[str, bytes]) -> None:
        self.path = path
        self.inner = inner
        self.contents = contents

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the module *name* comes from, `None` where there is none of that name."""
        del target
        last = name.rpartition(".")[2]
        at, path = os.path.normpath(os.path.join(self.inner, last)), os.path.join(self.path, last)
        for inner, file, is_package in (
            (f"{at}/__init__.py", os.path.join(path, "__init__.py"), True),
            (f"{at}.py", f"{path}.py", False),
        ):
            if inner in self.contents:
                spec = ModuleSpec(
                    name, _Loader(self.contents[inner], file), origin=file, is_package=is_package
                )
                spec.has_location = True
                if spec.submodule_search_locations is not None:
                    spec.submodule_search_locations.append(path)
                return spec
        if any(f"{at}{suffix}" in self.contents for suffix in EXTENSION_SUFFIXES):
            return FileFinder(self.path, (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec(name)
        if any(inner.startswith(f"{at}/") for inner in self.contents):
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [path]
            return spec
        return None


class _Loader(Loader):
    """Runs a module's bytes."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data = data
        self.path = path

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run it."""
        execute(self.data, self.path, module.__dict__)
