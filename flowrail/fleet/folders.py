"""Which project folders workers may run agents in: those that the user approved.

Without a user, a host program runs the hooks and servers that a project's settings name, without asking. So a folder is
approved together with the content of these settings. If they change, it must be approved again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from flowrail import approval
from flowrail.approval import FolderContent
from flowrail.command import Command, Hint
from flowrail.errors import TrustError
from flowrail.git import output_of
from flowrail.storage.files import MissingFileError, make_private_dir, read_bounded, sha256_hex

HOST_FILES = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    ".codex/config.toml",
    ".codex/hooks.json",
)
"""The files of a project in which host programs find commands that they run by themselves."""
_ABSENT = "-"
_CHECKOUT_SECONDS = 600.0


def content_of(project: str) -> FolderContent:
    """Return a project folder as it is approved for the fleet: the digests of its host settings."""
    root = os.path.realpath(project)
    files = {name: _digest(os.path.join(root, name)) for name in HOST_FILES}
    whole = json.dumps([root, sorted(files.items())]).encode()
    return FolderContent(os.path.join(root, ".flow", "fleet"), sha256_hex(whole), files, {})


def describe(project: str) -> Iterator[str]:
    """Yield lines about a project folder for the person who approves it."""
    content = content_of(project)
    yield f"folder {os.path.realpath(project)}"
    yield f"digest {content.digest}"
    present = [name for name, digest in content.files.items() if digest != _ABSENT]
    for name in present:
        yield f"  {name}: agents run the commands in it without asking"
    if not present:
        yield "  no settings of Claude Code or Codex"


def require_approved(project: str, state: str, *, worktree: str = "") -> None:
    """Refuse a folder that is not approved, or whose host settings changed since.

    A *worktree* of the project must have the same settings as the project when it was approved.
    """
    content = content_of(project)
    approved = approval.approval_of(content.folder, state)
    content = content_of(worktree) if worktree else content
    if approved is not None and approved.files == content.files:
        return
    problem = "is not approved for headless agents"
    if approved is not None:
        changed = [name for name, digest in content.files.items() if approved.files.get(name) != digest]
        problem = f"changed since it was approved for headless agents: {', '.join(changed)}"
    raise TrustError(
        f"{os.path.realpath(project)} {problem}",
        hint=Hint("a person runs: ", Command("fleet trust")),
        folder=os.path.realpath(project),
    )


def worktree_of(project: str, folder: str, target: str, environ: Mapping[str, str]) -> str:
    """Return the git worktree for *target* below *folder*. It is made on a branch `flow/…` if it does not exist.

    It stays after the run: the next attempt continues in it, and its branch holds the result.
    """
    name = target.replace("/", "-")
    path = os.path.join(folder, name)
    if not os.path.isdir(path):
        make_private_dir(folder)
        words = ("worktree", "add", "--quiet", "-B", f"flow/{name}", path, "HEAD")
        output_of(project, words, environ, seconds=_CHECKOUT_SECONDS)
    return path


def _digest(path: str) -> str:
    try:
        data = read_bounded(path, limit=approval.LARGEST_FILE, what="the settings", follow=True)
    except MissingFileError:
        return _ABSENT
    return sha256_hex(data)
