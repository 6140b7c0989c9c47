"""Each test has its own home, state folder and project."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support.databases import Server, close_all, postgres

from flowrail.hosts.conversation import MARKS

# The same examples in each run, so that a commit has one result.
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("drawn", deadline=None, max_examples=200)
settings.load_profile("steady")


MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 2 * 1024**3


def pytest_configure() -> None:
    """Let tests find this installation's programs, and keep their folders in memory if there is room.

    Most of the time of the tests goes into flushes.
    """
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not os.access(MEMORY, os.W_OK | os.X_OK):
        return
    status = os.statvfs(MEMORY)
    if status.f_bavail * status.f_frsize > ENOUGH_MEMORY and not status.f_flag & os.ST_NOEXEC:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)


def pytest_sessionfinish() -> None:
    """Save the coverage now: pytest-xdist kills workers that end slowly."""
    coverage = sys.modules.get("coverage")
    running = coverage.Coverage.current() if coverage else None
    if running is not None:
        running.save()


@pytest.fixture(autouse=True)
def own_world(
    request: pytest.FixtureRequest,
    store_kind: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Give a test its own home, state folder and project."""
    world = Path(tempfile.mkdtemp(prefix="world-", dir=tmp_path_factory.getbasetemp()))
    home, project = world / "home", world / "project"
    home.mkdir()
    project.mkdir()
    (project / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in (
        *MARKS,
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
        "CLAUDE_CONFIG_DIR",
        "FLOW_STORE",
        "FLOW_ACTOR",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_ENV_FILE",
        "AI_AGENT",
        "CODEX_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    if store_kind != "files":
        monkeypatch.setenv("FLOW_STORE", request.getfixturevalue("database_address"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests marked `every_store` on each kind of store."""
    if metafunc.definition.get_closest_marker("every_store"):
        metafunc.parametrize("store_kind", ["files", "sqlite", "postgresql"], indirect=True)


@pytest.fixture
def store_kind(request: pytest.FixtureRequest) -> str:
    """The kind of store that a test uses."""
    return str(getattr(request, "param", "files"))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A running PostgreSQL server."""
    with postgres() as running:
        yield running


@pytest.fixture
def database_address(
    request: pytest.FixtureRequest, store_kind: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of an empty store in a database. Its connections are closed after the test."""
    databases = pytest.importorskip("flowrail.storage.database", reason="the extra `sql` is not installed")
    if store_kind == "sqlite":
        address = f"sqlite:///{tmp_path_factory.mktemp('database') / 'flow.db'}"
    else:
        address = request.getfixturevalue("postgresql").fresh_database()
    database = databases.Database(address)
    database.init()
    database.close()
    yield address
    close_all()
