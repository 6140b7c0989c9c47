"""Which project folders workers may run agents in: those that the user approved.

Without a user, a host program runs the hooks and servers that a project's settings name, without asking. So a folder is
approved together with the content of these settings. If they change, it must be approved again.
"""

from __future__ import annotations

import json
import os

from flowrail import approval
from flowrail.approval import FolderContent
from flowrail.command import Command, Hint
from flowrail.errors import TrustError
from flowrail.hosts.host import HOSTS
from flowrail.operations.environment import Confirmation, Environment
from flowrail.storage.files import MissingFileError, read_bounded, sha256_hex

HOST_FILES = tuple(dict.fromkeys(path for host in HOSTS for path in host.approved_files))
"""The files of a project in which host programs find commands that they run by themselves."""
_ABSENT = "-"
_HINT = Hint("a person runs at a terminal: ", Command("fleet worker"))


def content_of(project: str) -> FolderContent:
    """Return a project folder as it is approved for the fleet: the digests of its host settings."""
    root = os.path.realpath(project)
    files = {name: _digest(os.path.join(root, name)) for name in HOST_FILES}
    whole = json.dumps([root, sorted(files.items())]).encode()
    return FolderContent(os.path.join(root, ".flow", "fleet"), sha256_hex(whole), files, {})


def approve(environment: Environment) -> None:
    """Ask the person at the terminal to approve the project, unless it is approved already."""
    content = content_of(environment.project)
    known = approval.approval_of(content.folder, environment.project, environment.state)
    if known is not None and known.files == content.files:
        return
    present = [name for name, digest in content.files.items() if digest != _ABSENT]
    lines = [f"folder {os.path.realpath(environment.project)}"]
    lines += [f"  {name}: agents run the commands in it without asking" for name in present]
    question = "Let workers run agents in this folder as you, without asking?"
    environment.confirm(Confirmation(question, lines, _HINT, content.digest))
    approval.approve(content, environment.project, environment.state, at=environment.now)


def require_approved(project: str, state: str) -> None:
    """Refuse a folder whose host settings changed since it was approved."""
    content = content_of(project)
    known = approval.approval_of(content.folder, project, state)
    if known is None or known.files != content.files:
        raise TrustError(f"{os.path.realpath(project)} changed since it was approved for agents", hint=_HINT)


def _digest(path: str) -> str:
    try:
        data = read_bounded(path, limit=approval.LARGEST_FILE, what="the settings", follow=True)
    except MissingFileError:
        return _ABSENT
    return sha256_hex(data)
