"""Every test runs in a home, a state folder and a project of its own."""

from __future__ import annotations

import sys

import pytest
from hypothesis import settings

# The same examples each time: one commit has one result.
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("drawn", deadline=None, max_examples=200)
settings.load_profile("steady")


def pytest_sessionfinish() -> None:
    """Save what was covered while there is time: a worker that is slow to end is ended."""
    coverage = sys.modules.get("coverage")
    running = coverage.Coverage.current() if coverage else None
    if running is not None:
        running.save()


@pytest.fixture(autouse=True)
def own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test does away from the user's home, state, skills and sessions."""
    world = tmp_path_factory.mktemp("world")
    home, project = world / "home", world / "project"
    home.mkdir()
    project.mkdir()
    (project / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
        "CLAUDE_CONFIG_DIR",
        "FLOW_STORE",
        "FLOW_ACTOR",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_ENV_FILE",
        "CODEX_HOME",
        "CODEX_THREAD_ID",
        "FLOW_HOST_SESSION",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
