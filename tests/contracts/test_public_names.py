"""The names that `from flowrail import …` offers: each exists, and is documented."""

from __future__ import annotations

import importlib

import pytest
from support.golden import as_in_golden_file

import flowrail


def test_the_public_names_are_the_recorded_ones() -> None:
    names: dict[str, object] = {}
    exec("from flowrail import *", names)  # noqa: S102 - as an author would

    assert as_in_golden_file("public_names.txt", "\n".join(sorted(dir(flowrail))))
    assert set(dir(flowrail)) <= set(names)


@pytest.mark.parametrize("name", dir(flowrail))
def test_every_name_is_documented(name: str) -> None:
    assert getattr(flowrail, name).__doc__


def test_a_program_needs_few_names() -> None:
    assert len(flowrail.__all__) <= 35


@pytest.mark.parametrize("package", ["", ".machines", ".formatters", ".testing", ".discovery"])
def test_packages_export_the_same_objects_and_refuse_unknown_names(package: str) -> None:
    module = importlib.import_module(f"flowrail{package}")

    for name in module.__all__:
        assert getattr(flowrail, name, getattr(module, name)) is getattr(module, name)
    with pytest.raises(AttributeError, match=rf"module '{module.__name__}' has no attribute 'nosuch'"):
        _ = module.nosuch
