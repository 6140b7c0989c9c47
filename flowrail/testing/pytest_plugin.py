"""pytest collects skills: `pytest --flow`, or `flow_skills` in its configuration.

    [tool.pytest.ini_options]
    flow_skills = ["skills", "problem-analysis"]

Every walk of `flow test` becomes a test, and so does `flow check`. Where none of it is asked for, this module
is all that is loaded. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Workflow
    from flowrail.testing.run import Run
    from flowrail.testing.walks.stage import Inside

COLLECTING = "flowrail-collecting"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take our options."""
    group = parser.getgroup("flowrail", "skills as tests")
    group.addoption("--flow", action="store_true", help="collect the project's skills as tests")
    group.addoption(
        "--flow-strict",
        action="store_true",
        help="fail on warnings of `flow check` too, and where no walk takes some way",
    )
    parser.addini(
        "flow_skills", "skills to collect as tests: names, folders, or folders of such", type="linelist"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to collect skills where that was asked for."""
    named = [arg for arg in config.args if _is_workflow(arg)]
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS
    if named or config.getoption("flow") or (whole and config.getini("flow_skills")):
        from flowrail.testing.pytest_items import Collecting

        config.pluginmanager.register(Collecting(config, named), COLLECTING)


def _is_workflow(arg: str) -> bool:
    """Return whether an argument names a skill's workflow, or one test of it; one in Python needs ``--flow``."""
    path = arg.partition("::")[0]
    if not path.endswith(".yaml"):
        return False
    folder, name = os.path.split(path)
    if name == "workflow.yaml":
        return any(os.path.exists(os.path.join(folder, each)) for each in ("SKILL.md", "steps"))
    above, last = os.path.split(folder)
    beside = ("workflow.yaml", "workflow.py")
    return last == "workflows" and any(os.path.exists(os.path.join(above, each)) for each in beside)


@pytest.fixture
def flow_run(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """Step a workflow in memory: ``flow_run("my-skill", topic="x").report("ok").step == "look"``.

    Takes a skill's name, looked for from the root of the tests, or a workflow; then its parameters.
    """
    from flowrail.testing.run import Run, load

    def begin(workflow: str | Workflow, /, **params: Any) -> Run:
        found = load(workflow, start=str(request.config.rootpath)) if isinstance(workflow, str) else workflow
        return Run(found, **params)

    return begin


@pytest.fixture
def flow_stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Inside:
    """Run commands as an agent would, in this process, on sessions of this test alone.

    ``flow_stage.run(["start", "my-skill"]).data["next"][0]["command"]``
    """
    from flowrail.testing.run import stage_in

    return stage_in(str(tmp_path_factory.mktemp("flow")), str(request.config.rootpath))
