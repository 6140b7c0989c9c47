"""The installation section of `flow doctor`: flowrail, what it requires, and the `flow` command on PATH."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib import metadata

from flowrail import __version__
from flowrail.operations.doctor.section import Section, SetupFinding

DISTRIBUTION = "flowrail"
_SCRIPT_START = 4096


def installation_section(environ: Mapping[str, str]) -> Section:
    """Return what is installed, and the findings about it."""
    python = ".".join(map(str, sys.version_info[:3]))
    command = shutil.which("flow", path=environ.get("PATH", os.defpath)) or ""
    required = list(_required())
    findings = [
        SetupFinding("REQUIREMENT_MISSING", "error", f"{name} is not installed", "install flowrail again", "")
        for name, version in required
        if not version
    ]
    findings += _command_findings(command)
    facts = [f"flowrail {__version__}, Python {python} ({sys.executable})"]
    if required:
        versions = [f"{name} {version or '(missing)'}" for name, version in required]
        facts.append(f"requires {', '.join(versions)}")
    facts.append(f"`flow` is {command or 'not on PATH'}")
    data = {
        "version": __version__,
        "python": python,
        "executable": sys.executable,
        "command": command,
        "requires": [{"name": name, "installed": version} for name, version in required],
    }
    return Section("installation", facts, findings, data)


def _required() -> Iterator[tuple[str, str]]:
    """Yield the name and the installed version of every distribution that flowrail requires; extras are left out."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return  # it runs from its source folder
    for text in requirements:
        name = re.match(r"[\w.-]+", text)
        if name is not None and "extra ==" not in text:
            try:
                yield name[0], metadata.version(name[0])
            except metadata.PackageNotFoundError:
                yield name[0], ""


def _command_findings(path: str) -> Iterator[SetupFinding]:
    if not path:
        remedy = f"add {sysconfig.get_path('scripts')} to PATH"
        message = "`flow` is not on PATH, and every printed command begins with it"
        yield SetupFinding("FLOW_NOT_ON_PATH", "error", message, remedy, "")
    elif not _names_flowrail(path):
        message = "`flow` may be another program: its file does not name flowrail"
        remedy = f"if `flow --version` does not print `flow {__version__}`, put our folder first in PATH"
        yield SetupFinding("FLOW_MAY_BE_ANOTHER", "warning", message, remedy, path)


def _names_flowrail(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return DISTRIBUTION.encode() in file.read(_SCRIPT_START)
    except OSError:
        return True  # the file can be run but not read
