"""A project in which everything that could be run by mistake says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAMES = [
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
]
NAMES += [
    "shlex",
    "helper",
    "sitecustomize",
    "usercustomize",
    "conftest",
    "flow",
    "setup",
    "noxfile",
    "_yaml",
]
"""Modules that are imported by flowrail, by Python or by tools, and are now the project's too."""
PROGRAMS = ("git", "sh", "python3", "flow", "less")


def canary() -> Path:
    """Return the file that is there once something of the project was run."""
    return Path.cwd() / "CANARY"


def plant() -> None:
    """Fill the current folder with what nobody may run."""
    here = Path.cwd()
    code = f"open({str(canary())!r}, 'w').close()\n"
    for name in NAMES:
        (here / f"{name}.py").write_text(code)
    for name in PROGRAMS:
        program = here / name
        program.write_text(f"#!/bin/sh\ntouch '{canary()}'\n")
        program.chmod(0o755)
    (here / "canary.pth").write_text(f"import os; {code}")
    (here / ".env").write_text("PYTHONPATH=.\nPATH=.\nFLOW_STORE=/tmp/elsewhere\nXDG_STATE_HOME=.\n")
    (here / "pyvenv.cfg").write_text("home = .\n")
    (here / "pyproject.toml").write_text('[project.entry-points."flowrail"]\nx = "helper:main"\n')
    hooks = here / ".git" / "hooks"
    hooks.mkdir(parents=True, exist_ok=True)
    for name in ("post-checkout", "post-index-change", "fsmonitor-watchman", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{canary()}'\n")
        (hooks / name).chmod(0o755)
    evil = here / "git"
    (here / ".git" / "config").write_text(
        f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\tsshCommand = {evil}\n\thooksPath = {hooks}\n"
        f'[alias]\n\tls-files = !{evil}\n[diff]\n\texternal = {evil}\n[filter "x"]\n\tsmudge = {evil}\n'
    )


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Hold that nothing of the project is run, imported, or put on Python's path meanwhile."""
    path, environ = list(sys.path), dict(os.environ)
    here = str(Path.cwd())
    yield
    assert not canary().exists()
    assert sys.path == path
    assert dict(os.environ) == environ
    loaded = [name for name, module in list(sys.modules.items()) if _file(module).startswith(here)]
    assert not loaded
    assert not list(Path.cwd().rglob("__pycache__"))


def _file(module: object) -> str:
    return str(getattr(module, "__file__", None) or "")
