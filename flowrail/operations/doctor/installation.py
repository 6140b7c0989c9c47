"""The installation section of `flow doctor`: flowrail, what it requires, and the `flow` command on PATH."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import NamedTuple

from packaging.requirements import Requirement

from flowrail import __version__
from flowrail.operations.doctor.section import Section, SetupFinding

DISTRIBUTION = "flowrail"
_SCRIPT_START = 4096


class InstalledRequirement(NamedTuple):
    """A required distribution and its installed version, which is empty if it is missing."""

    requirement: Requirement
    installed: str


def installation_section(environ: Mapping[str, str]) -> Section:
    """Return what is installed, and what is wrong with it."""
    python = ".".join(map(str, sys.version_info[:3]))
    command = shutil.which("flow", path=environ.get("PATH", os.defpath)) or ""
    findings: list[SetupFinding] = []
    try:
        required = list(_required())
    except metadata.PackageNotFoundError:
        required = []
        message = "flowrail runs from its source folder, so its requirements are unknown"
        findings.append(SetupFinding("RUNS_FROM_SOURCE", "warning", message, "install it: pip install .", ""))
    findings += [finding for each in required for finding in _requirement_findings(each)]
    findings += _command_findings(command)
    facts = [f"flowrail {__version__}, Python {python} ({sys.executable})"]
    if required:
        versions = [f"{each.requirement} ({each.installed or 'missing'})" for each in required]
        facts.append(f"requires {', '.join(versions)}")
    facts.append(f"`flow` is {command or 'not on PATH'}")
    data = {
        "version": __version__,
        "python": python,
        "executable": sys.executable,
        "command": command,
        "requires": [
            {
                "name": each.requirement.name,
                "specifier": str(each.requirement.specifier),
                "installed": each.installed,
            }
            for each in required
        ],
    }
    return Section("installation", facts, findings, data)


def _required() -> Iterator[InstalledRequirement]:
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield InstalledRequirement(requirement, _installed_version(requirement.name))


def _installed_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _requirement_findings(required: InstalledRequirement) -> Iterator[SetupFinding]:
    requirement, installed = required
    remedy = f"install flowrail again, or: pip install '{requirement}'"
    if not installed:
        yield SetupFinding("REQUIREMENT_MISSING", "error", f"{requirement.name} is not installed", remedy, "")
    elif not requirement.specifier.contains(installed, prereleases=True):
        message = f"{requirement.name} is {installed}, but flowrail requires {requirement.specifier}"
        yield SetupFinding("REQUIREMENT_NOT_MET", "error", message, remedy, "")


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
