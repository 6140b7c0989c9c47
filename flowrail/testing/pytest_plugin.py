"""Collect skills as pytest tests: `pytest --flow`, or `flow_skills` in the configuration.

    [tool.pytest.ini_options]
    flow_skills = ["skills", "problem-analysis"]

Every walk of `flow test` becomes a test, and so does `flow check`. pytest loads this plugin in every project, so
the rest of flowrail is imported only when skills are collected or a fixture is used. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from flowrail.testing.run import Run
    from flowrail.testing.walks.stage import Stage

COLLECTING = "flowrail-collecting"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("flowrail", "skills as tests")
    group.addoption("--flow", action="store_true", help="collect the project's skills as tests")
    group.addoption(
        "--flow-strict",
        action="store_true",
        help="fail also on warnings of `flow check` and if a transition is not taken by any walk",
    )
    parser.addini(
        "flow_skills",
        "skills to collect as tests: names, folders of skills, or folders that contain them",
        type="linelist",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect skills if an option, an argument or the configuration says so."""
    named = [arg for arg in config.args if _is_workflow(arg)]
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS
    if named or config.getoption("flow") or (whole and config.getini("flow_skills")):
        config.pluginmanager.register(_items().SkillCollector(config, named), COLLECTING)


def _items() -> ModuleType:
    from flowrail.testing import (
        pytest_items,  # loads all of flowrail, and pytest loads this module everywhere
    )

    return pytest_items


def _is_workflow(arg: str) -> bool:
    """Return whether an argument names a YAML workflow or one of its tests; a Python workflow needs ``--flow``."""
    path = arg.partition("::")[0]
    if not path.endswith(".yaml"):
        return False
    folder, name = os.path.split(path)
    if name == "workflow.yaml":
        return any(os.path.exists(os.path.join(folder, entry)) for entry in ("SKILL.md", "steps"))
    skill, last = os.path.split(folder)
    entries = ("workflow.yaml", "workflow.py")
    return last == "workflows" and any(os.path.exists(os.path.join(skill, entry)) for entry in entries)


@pytest.fixture
def flow_run(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """Run a workflow in memory: ``flow_run("my-skill", topic="x").report("ok").step == "look"``.

    Takes the name of a skill, searched from the root of the tests, or a workflow; then its parameters.
    """
    begin: Callable[..., Run] = partial(_items().begin_run, str(request.config.rootpath))
    return begin


@pytest.fixture
def flow_stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Run commands as an agent would, in this process, with a store for this test.

    ``flow_stage.run(Command("start", "my-skill")).data["next"][0]["command"]`` is the next `Command`.
    """
    folder = str(tmp_path_factory.mktemp("flow"))
    stage: Stage = _items().begin_stage(str(request.config.rootpath), folder)
    return stage
