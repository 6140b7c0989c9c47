"""Collect skills as pytest tests: `pytest --flow`, or `flow_skills` in the configuration.

    [tool.pytest.ini_options]
    flow_skills = ["skills", "problem-analysis"]

Every walk of `flow test` becomes a test, and so does `flow check`. pytest loads this plugin in every project, so
the rest of flowrail is imported only when skills are collected. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from pathlib import PurePath

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("flowrail", "skills as tests")
    group.addoption("--flow", action="store_true", help="collect the project's skills as tests")
    parser.addini(
        "flow_skills",
        "skills to collect as tests: names, folders of skills, or folders that contain them",
        type="linelist",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect skills if an option, an argument or the configuration says so."""
    named = [path for path in (arg.partition("::")[0] for arg in config.args) if _is_workflow(path)]
    is_whole_run = config.args_source is not pytest.Config.ArgsSource.ARGS
    if named or config.getoption("flow") or (is_whole_run and config.getini("flow_skills")):
        from flowrail.testing.pytest_items import (
            SkillCollector,  # loads all of flowrail, and pytest loads this module everywhere
        )

        config.pluginmanager.register(SkillCollector(config, named))


def _is_workflow(path: str) -> bool:
    """Return whether *path* may be a YAML workflow; a Python workflow needs ``--flow``."""
    file = PurePath(path)
    return file.name == "workflow.yaml" or (file.parent.name == "workflows" and file.suffix == ".yaml")
