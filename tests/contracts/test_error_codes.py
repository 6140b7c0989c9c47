"""Codes and exit statuses are promises: scripts and agents act on them."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module

from support.golden import as_in_golden_file

import flowrail
from flowrail.errors import FlowError


def every_error() -> list[type[FlowError]]:
    """Return every class of refusal that any module of ours defines."""
    for module in pkgutil.walk_packages(flowrail.__path__, "flowrail."):
        if not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except ModuleNotFoundError as missing:  # modules that need an extra define no errors
                if str(missing.name).startswith("flowrail"):
                    raise
    found: list[type[FlowError]] = []
    pending: list[type[FlowError]] = [FlowError]
    while pending:
        error = pending.pop()
        pending += error.__subclasses__()
        if error.__module__.startswith("flowrail."):
            found.append(error)
    return found


def test_every_error_has_its_code_and_status_in_one_list() -> None:
    lines = {f"{error.exit_status} {error.code} {error.__qualname__}" for error in every_error()}

    assert as_in_golden_file("error_codes.txt", "\n".join(sorted(lines)))


def test_a_code_means_one_thing_and_has_one_status() -> None:
    errors = every_error()
    owners: dict[str, str] = {}

    for error in errors:
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", error.code)
        assert error.__doc__
        if "code" in vars(error):  # packages that do not know each other may use the same name and code
            assert owners.setdefault(error.code, error.__name__) == error.__name__
    assert len({(error.code, error.exit_status) for error in errors}) == len({error.code for error in errors})
    assert {error.exit_status for error in errors} == set(range(1, 8))
