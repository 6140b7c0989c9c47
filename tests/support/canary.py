"""A project whose files create the canary if something runs or imports them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAMES = (
    *(
        "yaml",
        "click",
        "cattrs",
        "attr",
        "pydantic",
        "statemachine",
        "ruamel",
        "typing",
        "json",
        "re",
        "os",
        "shlex",
    ),
    *("helper", "sitecustomize", "usercustomize", "conftest", "flow", "setup", "noxfile", "_yaml"),
)
"""Modules that flowrail, Python or tools import, and that the project contains too."""
PROGRAMS = ("git", "sh", "python3", "flow", "less")


def canary() -> Path:
    """Return the file that exists after something of the project ran."""
    return Path.cwd() / "CANARY"


def plant() -> None:
    """Fill the current folder with modules, programs, hooks and settings that must not run."""
    folder = Path.cwd()
    code = f"open({str(canary())!r}, 'w').close()\n"
    for name in NAMES:
        (folder / f"{name}.py").write_text(code)
    for name in PROGRAMS:
        program = folder / name
        program.write_text(f"#!/bin/sh\ntouch '{canary()}'\n")
        program.chmod(0o755)
    (folder / "canary.pth").write_text(f"import os; {code}")
    (folder / ".env").write_text("PYTHONPATH=.\nPATH=.\nFLOW_STORE=/tmp/elsewhere\nXDG_STATE_HOME=.\n")
    (folder / "pyvenv.cfg").write_text("home = .\n")
    (folder / "pyproject.toml").write_text('[project.entry-points."flowrail"]\nx = "helper:main"\n')
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(parents=True, exist_ok=True)
    for name in ("post-checkout", "post-index-change", "fsmonitor-watchman", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{canary()}'\n")
        (hooks / name).chmod(0o755)
    evil = folder / "git"
    (folder / ".git" / "config").write_text(
        f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\tsshCommand = {evil}\n\thooksPath = {hooks}\n"
        f'[alias]\n\tls-files = !{evil}\n[diff]\n\texternal = {evil}\n[filter "x"]\n\tsmudge = {evil}\n'
    )


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Check that the body runs and imports nothing of the project, and leaves Python's path alone."""
    path, environ = list(sys.path), dict(os.environ)
    project = str(Path.cwd())
    yield
    assert not canary().exists()
    assert sys.path == path
    assert dict(os.environ) == environ
    loaded = [name for name, module in list(sys.modules.items()) if _file(module).startswith(project)]
    assert not loaded
    assert not list(Path.cwd().rglob("__pycache__"))


def _file(module: object) -> str:
    return str(getattr(module, "__file__", None) or "")
