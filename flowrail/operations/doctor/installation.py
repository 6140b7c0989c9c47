"""What is installed: flowrail, what it needs, and the command that agents are told to run."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from importlib import metadata
from typing import NamedTuple

from flowrail import __version__
from flowrail.machines.definition.findings import Finding

DISTRIBUTION = "flowrail"
_NEED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:>=\s*([0-9.]+))?")
_HEAD = 4096


class Need(NamedTuple):
    """Something that is needed, in which version at least, and which is there; empty for none."""

    name: str
    least: str
    installed: str

    @property
    def wanted(self) -> str:
        """Name and version, as an installer wants them."""
        return f"{self.name}>={self.least}" if self.least else self.name


class Installation(NamedTuple):
    """What is installed, and where the command is, if it can be found."""

    version: str
    python: str
    executable: str
    needs: tuple[Need, ...]
    command: str
    findings: tuple[Finding, ...]


def installation(environ: Mapping[str, str]) -> Installation:
    """Return what is installed, and what is wrong with that."""
    python = ".".join(map(str, sys.version_info[:3]))
    needs, unknown = _needs()
    path = shutil.which("flow", path=environ.get("PATH", os.defpath)) or ""
    findings = [
        *unknown,
        *(each for need in needs for each in _need_findings(need)),
        *_command_findings(path),
    ]
    return Installation(__version__, python, sys.executable, tuple(needs), path, tuple(findings))


def _needs() -> tuple[list[Need], list[Finding]]:
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        message = "flowrail runs from its source, so nothing says what it needs"
        return [], [Finding("RUNS_FROM_SOURCE", "warning", message, "install it: pip install .", "")]
    found = [_NEED.match(each) for each in declared if "extra ==" not in each]
    return [Need(each[1], each[2] or "", _installed(each[1])) for each in found if each], []


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _need_findings(need: Need) -> list[Finding]:
    again = f"install flowrail again, or: pip install '{need.wanted}'"
    if not need.installed:
        return [Finding("NEED_MISSING", "error", f"{need.name} is not installed", again, "")]
    if _numbers(need.installed) < _numbers(need.least):
        message = f"{need.name} is {need.installed}, {need.least} is the oldest that works"
        return [Finding("NEED_TOO_OLD", "error", message, again, "")]
    return []


def _command_findings(path: str) -> list[Finding]:
    if not path:
        scripts = sysconfig.get_path("scripts")
        message = "there is no `flow` on PATH, and every printed command begins with it"
        return [Finding("FLOW_NOT_ON_PATH", "error", message, f"add {scripts} to PATH", "")]
    if not _is_ours(path):
        message = "`flow` may be another program: its file does not name flowrail"
        remedy = f"if `flow --version` is not `flow {__version__}`, put the folder of ours first in PATH"
        return [Finding("FLOW_MAY_BE_ANOTHER", "warning", message, remedy, path)]
    return []


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return DISTRIBUTION.encode() in file.read(_HEAD)
    except OSError:
        return True  # it can be run, but not read: nothing can be said


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, zeros at the end left out."""
    numbers = [int(part) for part in re.findall(r"\d+", re.match(r"[0-9.]*", version)[0])]  # type: ignore[index]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
