"""The names that `from flowrail import …` offers: each exists, is documented, and is imported on first use."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from support.golden import as_in_golden_file
from support.sandbox import clean_environment

import flowrail
import flowrail.formatters


def test_the_public_names_are_the_recorded_ones() -> None:
    assert as_in_golden_file("public_names.txt", "\n".join(sorted(flowrail.__all__)))


@pytest.mark.parametrize("name", flowrail.__all__)
def test_every_name_exists_and_is_documented(name: str) -> None:
    value = getattr(flowrail, name)

    assert name in dir(flowrail)
    assert getattr(value, "__doc__", None)
    if isinstance(value, type):
        assert value.__module__.startswith("flowrail.")


def test_an_unknown_name_raises_the_usual_error() -> None:
    with pytest.raises(AttributeError, match="module 'flowrail' has no attribute 'nosuch'"):
        _ = flowrail.nosuch  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from flowrail import nosuch", {})  # noqa: S102 - as an author would


def test_a_star_import_gives_every_name() -> None:
    names: dict[str, object] = {}

    exec("from flowrail import *", names)  # noqa: S102 - as an author would

    assert set(flowrail.__all__) <= set(names)


def test_a_name_imports_only_what_it_needs() -> None:
    code = "import sys; from flowrail import StepDef; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True, check=True
    )

    assert not {"statemachine", "pydantic", "yaml", "cattrs", "click"} & set(done.stdout.split())


def test_prompt_formatters_can_be_imported_from_both_places() -> None:
    for name in flowrail.formatters.__all__:
        assert getattr(flowrail, name) is getattr(flowrail.formatters, name)


@pytest.mark.parametrize("package", ["machines", "formatters", "testing", "discovery"])
def test_packages_export_their_own_names(package: str) -> None:
    module = importlib.import_module(f"flowrail.{package}")

    assert all(getattr(module, name) is not None for name in module.__all__)
    shared = set(module.__all__) & set(flowrail.__all__)
    assert all(getattr(module, name) is getattr(flowrail, name) for name in shared)
    with pytest.raises(AttributeError, match=rf"module 'flowrail\.{package}' has no attribute 'nosuch'"):
        _ = module.nosuch
