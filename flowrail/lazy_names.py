"""Names of a package that are imported when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False  # not from `typing`: every hook would import it
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of *package*, which has the names of these *modules* of flowrail."""
    module_of = {name: module for module, names in modules.items() for name in names}

    def import_name(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module  # every hook imports `flowrail`, and uses none of its names

        return getattr(import_module(f"flowrail.{module_of[name]}"), name)

    return import_name, lambda: sorted(module_of)
